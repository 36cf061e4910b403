"""A stage for each driver: the conformance pages, loaded, changed and read back in the driver's own way."""

import asyncio
import http.server
import importlib.util
import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

import pytest
import pytest_asyncio

from harness.drivers.agent_browser import AgentDriver, AgentHost
from harness.drivers.agent_page import AgentPage
from harness.drivers.base import DriverPage
from harness.drivers.current import CurrentDriver
from harness.drivers.current_page import CurrentPage
from harness.drivers.fake import FakeDriver, FakeHost
from harness.drivers.fake_document import FakeDocument
from harness.drivers.fake_page import FakePage
from harness.drivers.native_pin import NativeBinary
from harness.host.tab import Tab
from harness.targets.base import Endpoint
from observe.model import ActionRef, Observation

if TYPE_CHECKING:
    from tests.conformance.pages import Page

FAKE_ADDRESS = "http://fake.test"
NO_ENDPOINT = Endpoint(browser_ws="", http="", profile=Path(), browser_version="", os="", architecture="", pid=0)

KNOWN_GAPS: Mapping[tuple[str, str], str] = {}
"""Driver and behaviour that it falls short of, with the reason. One that is met again must go from here."""


def _load_pages() -> "dict[str, Page]":
    spec = importlib.util.spec_from_file_location("conformance_pages", Path(__file__).with_name("pages.py"))
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return cast("dict[str, Page]", module.PAGES)


PAGES = _load_pages()


class Browser(Protocol):
    """One driver under test, as the stage needs it."""

    address: str

    async def open(self) -> DriverPage:
        """A tab that shares nothing with any other."""
        ...

    async def mutate(self, page: DriverPage, name: str, change: str) -> None: ...

    async def reload(self, page: DriverPage) -> None: ...

    async def read(self, page: DriverPage, fact: str) -> str | None: ...


class Stage:
    """One tab of one driver, which shows a page of the list."""

    def __init__(self, browser: Browser, page: DriverPage) -> None:
        self._browser = browser
        self._name = ""
        self.page = page
        self.tab = Tab(page)

    def address(self, name: str) -> str:
        """Where a page of the list is served."""
        return f"{self._browser.address}/{name}"

    async def load(self, name: str) -> None:
        """Show a page of the list."""
        self._name = name
        await self.page.navigate(self.address(name))
        await self.page.settle()

    async def observe(self, name: str) -> Observation:
        """Show a page of the list, and observe it."""
        await self.load(name)
        return await self.tab.observe("ax")

    async def mutate(self, change: str) -> None:
        """Let the page carry out one of its mutations."""
        await self._browser.mutate(self.page, self._name, change)

    async def reload(self) -> None:
        """Load the same address again, without the host's doing."""
        await self._browser.reload(self.page)

    async def read(self, fact: str) -> str | None:
        """What the page's script has put down under that name; None: nothing."""
        return await self._browser.read(self.page, fact)

    async def another(self) -> "Stage":
        """A second tab, which shares nothing with this one."""
        return Stage(self._browser, await self._browser.open())

    @staticmethod
    def named(seen: Observation, name: str, nth: int = 0) -> ActionRef:
        """The nth ref of that name."""
        return [ref for ref in seen.refs if ref.name == name][nth]

    async def click(self, ref: ActionRef) -> None:
        """Click, and wait as the host does."""
        await self.page.click(await self.tab.target(ref.ref))
        await self.page.settle()

    async def type(self, ref: ActionRef, text: str) -> str | None:
        """Type; what the field holds then."""
        return await self.page.type(await self.tab.target(ref.ref), text)

    async def select(self, ref: ActionRef, *labels: str) -> None:
        """Select options by their text."""
        await self.page.select_option(await self.tab.target(ref.ref), labels)


class FakeBrowser:
    """The driver `fake`."""

    address = FAKE_ADDRESS

    def __init__(self, driver: FakeDriver) -> None:
        self._driver = driver

    async def open(self) -> DriverPage:
        return await self._driver.new_page()

    async def mutate(self, page: DriverPage, name: str, change: str) -> None:
        assert isinstance(page, FakePage)
        page.run(PAGES[name].mutations[change].effect)

    async def reload(self, page: DriverPage) -> None:
        assert isinstance(page, FakePage)
        page.run(FakeDocument.reload)

    async def read(self, page: DriverPage, fact: str) -> str | None:
        assert isinstance(page, FakePage)
        return page.document.facts.get(fact)


class CurrentBrowser:
    """The driver `current`, on a real Chromium."""

    def __init__(self, driver: CurrentDriver, address: str, stack: AsyncExitStack) -> None:
        self.address = address
        self._driver = driver
        self._stack = stack

    async def open(self) -> DriverPage:
        page = await self._driver.fresh_page()
        self._stack.push_async_callback(page.leave)
        return page

    async def mutate(self, page: DriverPage, name: str, change: str) -> None:
        assert isinstance(page, CurrentPage)
        await page._page.evaluate(PAGES[name].mutations[change].script)

    async def reload(self, page: DriverPage) -> None:
        assert isinstance(page, CurrentPage)
        await page._page.reload()

    async def read(self, page: DriverPage, fact: str) -> str | None:
        assert isinstance(page, CurrentPage)
        found: str | None = await page._page.evaluate("(name) => facts[name] ?? null", fact)
        return found


class AgentBrowser:
    """The driver `agent-browser`: a native child for each tab, on a real Chromium."""

    def __init__(self, driver: AgentDriver, address: str, stack: AsyncExitStack) -> None:
        self.address = address
        self._driver = driver
        self._stack = stack

    async def open(self) -> DriverPage:
        page = await self._driver.fresh_page()
        self._stack.push_async_callback(page.leave)
        return page

    @staticmethod
    async def _evaluate(page: DriverPage, script: str) -> object:
        assert isinstance(page, AgentPage)
        answer = await page._cdp.send(
            "Runtime.evaluate", {"expression": script, "awaitPromise": True, "returnByValue": True}
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def mutate(self, page: DriverPage, name: str, change: str) -> None:
        await self._evaluate(page, PAGES[name].mutations[change].script)

    async def reload(self, page: DriverPage) -> None:
        assert isinstance(page, AgentPage)
        loaded = asyncio.Event()
        page._cdp.on("Page.loadEventFired", lambda _params, _session: loaded.set())
        await page._cdp.send("Page.reload")
        await loaded.wait()

    async def read(self, page: DriverPage, fact: str) -> str | None:
        found = await self._evaluate(page, f"facts[{json.dumps(fact)}] ?? null")
        return found if isinstance(found, str) else None


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = PAGES.get(self.path.lstrip("/"))
        body = b"" if page is None else page.html.encode()
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


@pytest.fixture(scope="session")
def conformance_address() -> Iterator[str]:
    """Where the conformance pages are served, on loopback."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


REAL = ("current", "agent-browser")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """What a driver needs for a stage; all None: the fake."""

    current: CurrentDriver | None = None
    native: NativeBinary | None = None
    endpoint: Endpoint | None = None
    address: str = FAKE_ADDRESS


@pytest.fixture(params=["fake", *(pytest.param(name, marks=pytest.mark.browser) for name in REAL)])
def attached(request: pytest.FixtureRequest) -> Attached:
    """The real drivers and their pages are started only where they are wanted."""
    if (gap := KNOWN_GAPS.get((request.param, request.node.originalname))) is not None:
        request.applymarker(pytest.mark.xfail(strict=True, reason=gap))
    wanted = request.getfixturevalue
    match request.param:
        case "current":
            return Attached(current=wanted("current_driver"), address=wanted("conformance_address"))
        case "agent-browser":
            native = wanted("native_binary")
            return Attached(native=native, endpoint=wanted("native_endpoint"), address=wanted("conformance_address"))
        case _:
            return Attached()


@pytest_asyncio.fixture(loop_scope="session")
async def stage(attached: Attached) -> AsyncIterator[Stage]:
    """A fresh tab of each driver in turn."""
    async with AsyncExitStack() as stack:
        browser: Browser
        if attached.current is not None:
            browser = CurrentBrowser(attached.current, attached.address, stack)
        elif attached.native is not None and attached.endpoint is not None:
            driver = await stack.enter_async_context(AgentHost(attached.native).attach(attached.endpoint))
            browser = AgentBrowser(driver, attached.address, stack)
        else:
            site = {f"{FAKE_ADDRESS}/{name}": page.fake for name, page in PAGES.items()}
            browser = FakeBrowser(await stack.enter_async_context(FakeHost(site).attach(NO_ENDPOINT)))
        yield Stage(browser, await browser.open())
