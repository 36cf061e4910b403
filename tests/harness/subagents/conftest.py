"""Owners' pages in memory, and a parent over them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.drivers.base import DriverPage
from harness.errors import DriverError, OperationFailed, OwnerPageGone
from harness.host.pages import OwnerPages, opened_pages
from harness.host.scope import RuntimeKey
from harness.subagents.launch import SubagentHost, subagent_host
from observe.events import ConsoleEntry, NetworkEntry, Ring, Taken


@dataclass(slots=True)
class FakeLog:
    console: Ring[ConsoleEntry] = field(default_factory=Ring)
    network: Ring[NetworkEntry] = field(default_factory=Ring)

    def take_console(self, *, clear: bool) -> Taken[ConsoleEntry]:
        return self.console.take(clear=clear)

    def take_network(self, *, clear: bool) -> Taken[NetworkEntry]:
        return self.network.take(clear=clear, stays=lambda entry: not entry.ended)


@dataclass(frozen=True, slots=True)
class FakeLoaded:
    status: int
    final_url: str


class FakePage:
    """A page to which a few words mean something; every other expression is its own value."""

    def __init__(self) -> None:
        self.log = FakeLog()
        self.url = "about:blank"
        self.closed = asyncio.Event()
        self.holding = asyncio.Event()  # somebody waits for `hang`
        self.closing = asyncio.Event()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self._calls: list[Callable[[], None]] = []

    @property
    def blank(self) -> bool:
        return self.url == "about:blank"

    def when_gone(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    async def goto(self, url: str, timeout_ms: float) -> FakeLoaded:
        self.url = url
        return FakeLoaded(200, url)

    async def evaluate(self, expression: str, timeout_ms: float) -> JsonValue:
        match expression:
            case "hang":
                self.holding.set()
                await self.closed.wait()
                raise OwnerPageGone("the page was closed")
            case "throw":
                raise OperationFailed('it threw "Error: no"')
            case "large":
                return "x" * 300_000
            case "surrogate":
                return "\ud800"
            case "fault":
                raise LookupError(expression)
        return expression

    async def fill(self, selector: str, value: str, timeout_ms: float) -> None:
        pass

    async def click(self, selector: str, timeout_ms: float) -> None:
        pass

    async def screenshot(self, path: Path, timeout_ms: float, *, full: bool) -> None:
        path.write_bytes(b"png")

    async def close(self) -> None:
        self.closing.set()
        await self.may_close.wait()
        if not self.closed.is_set():
            self.closed.set()
            for call in self._calls:
                call()


class FakeBrowser:
    """A browser whose start and pages can be held; `pages` are all that it ever opened."""

    def __init__(self) -> None:
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.may_open = asyncio.Event()
        self.may_open.set()
        self.starting = asyncio.Event()
        self.opening = asyncio.Event()
        self.pages: list[FakePage] = []
        self.alive = True
        self.starts = 0
        self.fails = False

    def make(self, _key: RuntimeKey) -> "FakeBrowser":
        self.alive = True
        return self

    async def start(self) -> None:
        self.starts += 1
        self.starting.set()
        await self.may_start.wait()
        if self.fails:
            raise DriverError("no browser")

    async def new_page(self) -> DriverPage:
        raise NotImplementedError

    async def owner_page(self) -> FakePage:
        self.opening.set()
        await self.may_open.wait()
        self.pages.append(FakePage())
        return self.pages[-1]

    async def dispose(self) -> None:
        self.alive = False
        for page in self.pages:
            await page.close()


@dataclass(slots=True)
class Fake:
    """A parent over pages in memory."""

    browser: FakeBrowser
    pages: OwnerPages
    host: SubagentHost
    mode: str | None = "Build"


@asynccontextmanager
async def fake_parent() -> AsyncIterator[Fake]:
    browser = FakeBrowser()

    async def mode() -> str | None:
        return made.mode

    async with opened_pages(browser.make) as pages, subagent_host(pages, mode) as host:
        pages.turn_on()
        made = Fake(browser, pages, host)
        try:
            yield made
        finally:
            browser.may_start.set()
            browser.may_open.set()


@pytest.fixture
async def fake() -> AsyncIterator[Fake]:
    async with fake_parent() as made:
        yield made
