"""What tests of real browsers share: one Chromium and one attached driver for each worker, and a page server."""

import functools
import http.server
import os
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from harness.config import load_settings
from harness.drivers import current
from harness.drivers.base import DriverPage
from harness.drivers.current import CurrentDriver
from harness.drivers.current_page import CurrentPage
from harness.drivers.native_pin import NativeBinary, find_native
from harness.errors import NativeMissing
from harness.host.approvals import AllowEverySession
from harness.host.authority import Surroundings
from harness.host.fake import FakeAudit
from harness.host.provider import Policy, Provider
from harness.host.scope import Bot
from harness.targets.base import Endpoint
from harness.targets.local import local
from harness.tools.bot import BotTools
from harness.tools.session import BotSession

CASES = Path(__file__).parent / "cases"


def pytest_configure(config: pytest.Config) -> None:
    """Tests record nothing beside what their user does: the state folder is one of their own."""
    folder = tempfile.mkdtemp(prefix="axtrial-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["AXTRIAL_STATE_DIR"] = folder


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes minutes runs only where it is asked for by its mark, whatever else is picked."""
    if "soak" not in config.option.markexpr:
        long = [item for item in items if item.get_closest_marker("soak") is not None]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


@pytest.fixture(scope="session")
def case_pages() -> Iterator[str]:
    """The address of the folder of page cases, on loopback."""
    handler = functools.partial(_Quiet, directory=str(CASES / "pages"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def endpoint() -> AsyncIterator[Endpoint]:
    async with local(load_settings()) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def current_driver(endpoint: Endpoint) -> AsyncIterator[CurrentDriver]:
    async with current.start() as host, host.attach(endpoint) as driver:
        yield driver


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def native_endpoint() -> AsyncIterator[Endpoint]:
    """A Chromium of its own: Playwright answers the dialogs of every tab of a browser that it is attached to."""
    async with local(load_settings()) as running:
        yield running


@pytest.fixture(scope="session")
def native_binary() -> NativeBinary:
    """The pinned native driver; `make setup` brings it where there is npm."""
    try:
        return find_native(load_settings())
    except NativeMissing as missing:
        pytest.skip(missing.message)


@pytest_asyncio.fixture(loop_scope="session")
async def page(current_driver: CurrentDriver) -> AsyncIterator[CurrentPage]:
    """A tab in a browser context of its own, 1280 by 720."""
    opened = await current_driver.fresh_page()
    yield opened
    await opened.leave()


class OnePage:
    """A browser that has come up already, and has this one tab."""

    alive = True

    def __init__(self, page: DriverPage) -> None:
        self._page = page

    async def start(self) -> None:
        """Nothing is left to do."""

    async def new_page(self) -> DriverPage:
        """The tab."""
        return self._page

    async def dispose(self) -> None:
        """Whoever made the browser ends it."""


BotOn = Callable[..., Awaitable[BotSession]]


@pytest.fixture
def bot_on() -> BotOn:
    """A bot whose current tab is the given page, as it stands; the keywords are those of BotTools."""

    async def make(page: DriverPage, formatter: str = "structured", **tools: Path) -> BotSession:
        policy = Policy(approver=AllowEverySession(), around=Surroundings(access={"ada": True}))
        bot_tools = BotTools(formatter=formatter, **tools)  # type: ignore[arg-type]
        provider = Provider(lambda _key: OnePage(page), bot_tools, FakeAudit(), policy)
        provider.register(Bot(name="ada", profile="P"), "ada-1")
        session = BotSession(provider, "ada-1")
        assert (await session.call("tabs", {"action": "open"})).outcome == "ok"
        return session

    return make
