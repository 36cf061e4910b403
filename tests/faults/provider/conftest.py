"""A provider over real Chromium and a real driver, whose steps a test can hold, and what is left when it is done."""

import asyncio
import http.server
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from harness.config import load_settings
from harness.drivers.base import DriverPage
from harness.drivers.cdp import open_cdp
from harness.host.approvals import ApprovalRequest
from harness.host.audit import AuditLog, AuditRow, read_audit
from harness.host.browsers import BrowserRuntime, Browsers, opened_browsers
from harness.host.grants import Decision
from harness.host.provider import Policy, Provider
from harness.host.runtime import DisposalFailed
from harness.host.scope import Bot, Choice, RuntimeKey
from harness.tools.answer import Answer
from harness.tools.bot import BotTools
from harness.tools.session import BotSession

BOUND_S = 40.0

MAX_TOLD_CHARS = 300
"""Of a left process's command line: enough to tell whose it is."""

DRIVERS = ("current", "agent-browser")

PAGE = """<!doctype html><title>Page</title>
<button onclick="fetch('/hit?by=click')">Hit</button>
<button onclick="const end = Date.now() + 700; while (Date.now() < end) {} fetch('/hit?by=slow')">Slow</button>
<input aria-label=Note onkeydown="fetch('/hit?by=key')">
"""


@dataclass(slots=True)
class Site:
    """A page, and what its controls told the server."""

    address: str
    loads: int = 0
    hits: list[str] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)

    def hit(self, by: list[str]) -> None:
        """A control told the server."""
        with self.news:
            self.hits += by
            self.news.notify_all()

    async def heard(self, *hits: str) -> bool:
        """Whether these and no others have come, within bounds; requests are on their way when a call ends."""

        def wait() -> bool:
            with self.news:
                return self.news.wait_for(lambda: self.hits == list(hits), 10.0)

        return await asyncio.to_thread(wait)


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path == "/hit":
                made.hit(parse_qs(asked.query)["by"])
            elif asked.path == "/":
                made.loads += 1
            body = PAGE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # the browser may be gone
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Tests print nothing of their own."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made = Site(f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


@dataclass(slots=True)
class Hold:
    """A step that waits until it is released."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)


class HandApprover:
    """Allows at once, or waits for `decision`; a cancelled question can still be answered."""

    def __init__(self) -> None:
        self.decision: asyncio.Future[Decision] | None = None
        self.asked: list[ApprovalRequest] = []
        self.answered = asyncio.Event()

    async def ask(self, request: ApprovalRequest) -> Decision:
        """The decision, sooner or later."""
        self.asked.append(request)
        if self.decision is None:
            return "once"
        while not self.decision.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self.decision)
        self.answered.set()
        return self.decision.result()


class Real:
    """The provider and all around it."""

    def __init__(self, browsers: Browsers, audit: AuditLog, state: Path, driver: str) -> None:
        self.driver = driver
        self.state = state
        self.approver = HandApprover()
        self.made: list[BrowserRuntime] = []
        self.failing_disposals = 0
        self.holds: dict[str, Hold] = {}
        self._browsers = browsers
        policy = Policy(approver=self.approver, choice=self.choice(driver))
        self.provider: Provider[Answer] = Provider(self._make, BotTools(formatter="conservative"), audit, policy)

    @staticmethod
    def choice(driver: str) -> Choice:
        """The target local with this driver."""
        return Choice(target="local", drivers={"local": driver})

    def _make(self, key: RuntimeKey) -> BrowserRuntime:
        runtime = self._browsers.make(key)
        dispose, new_page = runtime.dispose, runtime.new_page

        async def failing() -> None:
            if self.failing_disposals > 0:
                self.failing_disposals -= 1
                raise DisposalFailed("the test says so")
            await dispose()

        async def held_page() -> DriverPage:
            page = await new_page()
            for step in ("read_dom", "click"):
                setattr(page, step, self._held(step, getattr(page, step)))
            return page

        runtime.dispose, runtime.new_page = failing, held_page  # type: ignore[method-assign]
        self.made.append(runtime)
        return runtime

    def _held(self, step: str, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def held(*arguments: Any, **options: Any) -> Any:
            if (hold := self.holds.get(step)) is not None:
                hold.reached.set()
                await hold.released.wait()
            return await work(*arguments, **options)

        return held

    def hold(self, step: str) -> Hold:
        """Hold `read_dom` or `click` of every tab before it is sent, until it is released."""
        return self.holds.setdefault(step, Hold())

    def enter(self, bot: str = "ada", profile: str = "P") -> BotSession:
        """A registered session of a bot that may use the browser."""
        self.provider.set_access(bot, True)
        self.provider.register(Bot(name=bot, profile=profile), f"{bot}-1")
        return BotSession(self.provider, f"{bot}-1")

    async def refs(self, session: BotSession) -> dict[str, str]:
        """The refs of a new observation by their names."""
        answer = await session.call("observe", {})
        assert answer.observation is not None, answer.text
        return {ref.name: ref.ref for ref in answer.observation.refs}

    def pid(self, number: int = -1) -> int:
        """The process id of a browser, in the order in which they were made."""
        endpoint = self.made[number].endpoint
        assert endpoint is not None
        return endpoint.pid

    async def close_tab(self, target_id: str) -> None:
        """Close a tab as a person would, beside the driver."""
        endpoint = self.made[-1].endpoint
        assert endpoint is not None
        async with open_cdp(endpoint.browser_ws) as browser:
            await browser.send("Target.closeTarget", {"targetId": target_id})

    def records(self) -> tuple[AuditRow, ...]:
        """The audit record."""
        found = read_audit(self.state, last=1_000)
        return () if found is None else found.rows


def started_since(before: frozenset[psutil.Process]) -> list[str]:
    """What runs below this process, but not below the children that it had `before`.

    Those are browsers of the whole session, which start processes by themselves: a Chrome of three minutes starts its
    service for models on the device.
    """
    left = [each for each in psutil.Process().children(recursive=True) if before.isdisjoint(_ancestry(each))]
    return [told for each in left if (told := _told(each)) is not None]


def _ancestry(process: psutil.Process) -> list[psutil.Process]:
    """A process and all those above it."""
    with suppress(psutil.NoSuchProcess):
        return [process, *process.parents()]
    return [process]


def _told(process: psutil.Process) -> str | None:
    """What tells one process from another; None: it has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        facts = process.as_dict(["pid", "ppid", "name", "status", "cmdline"])
        line = facts.pop("cmdline") or []
        kind = next((each for each in line if each.startswith("--type=")), " ".join(line))
        return f"{facts} {kind[:MAX_TOLD_CHARS]!r}"
    return None


@pytest.fixture(params=DRIVERS)
async def real(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Real]:
    """The provider; at the end no process that it started lives, and its temp folder is empty."""
    driver: str = request.param
    if driver == "agent-browser":
        request.getfixturevalue("native_binary")
    temp = Path(tempfile.mkdtemp(prefix="a"))  # a short path, as it holds sockets
    monkeypatch.setattr(tempfile, "tempdir", str(temp))
    before = frozenset(psutil.Process().children())
    async with opened_browsers(load_settings()) as browsers:
        for name in DRIVERS if driver == "agent-browser" else ("current",):
            await browsers.program(name)
        with AuditLog(tmp_path) as audit:
            made = Real(browsers, audit, tmp_path, driver)
            try:
                yield made
            finally:
                made.failing_disposals = 0
                await made.provider.close()
    monkeypatch.undo()
    assert (started_since(before), list(temp.iterdir())) == ([], [])
    temp.rmdir()
