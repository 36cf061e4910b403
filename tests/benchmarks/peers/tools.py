"""The tools side by side: each loads a page and gives a text of it that a model can read.

Time runs from the question to the whole text, in the program that asks; for a Python library in its own process.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from formatters.catalog import get
from formatters.render import render
from harness.config import load_settings
from harness.drivers import current
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.targets.local import local, runs_without_sandbox
from tests.benchmarks.peers.install import native_agent_browser
from tests.benchmarks.peers.stdio import END_S, START_S, LineChild, McpClient, PeerFault, Room, line_child, room

LOAD_S = 240.0
"""Seconds for a page to load: some tools read it already then."""

SNAPSHOT_S = 300.0
"""Seconds for one text: the slowest takes a minute and more for the longest page."""

BRIDGES = Path(__file__).parent / "bridges"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A text for a model, and the milliseconds that it took."""

    text: str
    ms: float


class Tool(Protocol):
    """One tool with its browser."""

    async def load(self, address: str) -> None:
        """Returns when the tool says that the page is loaded. Raises: PeerFault."""
        ...

    async def snapshot(self) -> Snapshot:
        """The page as a text. Raises: PeerFault."""
        ...


class _Mcp:
    def __init__(
        self, client: McpClient, calls: tuple[str, str], fixed: dict[str, object], load: dict[str, object]
    ) -> None:
        self._client = client
        self._navigate, self._read = calls
        self._fixed = fixed
        self._load = {**fixed, **load}

    async def load(self, address: str) -> None:
        await self._client.call(self._navigate, {**self._load, "url": address}, LOAD_S)

    async def snapshot(self) -> Snapshot:
        start = time.perf_counter()
        text = await self._client.call(self._read, self._fixed, SNAPSHOT_S)
        return Snapshot(text=text, ms=(time.perf_counter() - start) * 1000)


class _Bridge:
    def __init__(self, child: LineChild) -> None:
        self._child = child

    async def load(self, address: str) -> None:
        await self._child.send({"load": address})
        await self._child.receive(LOAD_S)

    async def snapshot(self) -> Snapshot:
        await self._child.send({"snapshot": True})
        answer = await self._child.receive(SNAPSHOT_S)
        return Snapshot(text=answer["text"], ms=answer["ms"])


class _AgentBrowser:
    def __init__(self, argv: list[str], environment: dict[str, str], folder: Path) -> None:
        self._argv = argv
        self._environment = environment
        self._folder = folder

    async def load(self, address: str) -> None:
        await self.run(["open", address], LOAD_S)

    async def snapshot(self) -> Snapshot:
        start = time.perf_counter()
        text = await self.run(["snapshot"], SNAPSHOT_S)
        return Snapshot(text=text, ms=(time.perf_counter() - start) * 1000)

    async def run(self, arguments: list[str], within_s: float) -> str:
        """The program's output."""
        process = await asyncio.create_subprocess_exec(
            *self._argv,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
            cwd=self._folder,
        )
        try:
            async with asyncio.timeout(within_s):
                out, err = await process.communicate()
        except TimeoutError as error:
            process.kill()
            await process.wait()
            raise PeerFault(f"{arguments[0]}: no answer within {within_s:g} s") from error
        if process.returncode != 0:
            raise PeerFault(f"{arguments[0]}: {(err or out).decode(errors='replace').strip()[:200]}")
        return out.decode(errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How much of the tree is read, and how it is shown."""

    formatter: str
    ax: Literal["full", "bounded"]


class _Ours:
    def __init__(self, page: CurrentPage, shown: Shown) -> None:
        self._page = page
        self._tab = Tab(page)
        self._formatter = get(shown.formatter)
        self._filled = self._formatter.filled if shown.ax == "bounded" else None

    async def load(self, address: str) -> None:
        await self._page.navigate(address)

    async def snapshot(self) -> Snapshot:
        start = time.perf_counter()
        observation = await self._tab.observe("ax", self._filled, joined=self._formatter.joined)
        text = render(observation, self._formatter.name).text
        return Snapshot(text=text, ms=(time.perf_counter() - start) * 1000)


Opener = Callable[[Path, Path, str], AbstractAsyncContextManager[Tool]]
"""Opens a tool from its installation's folder, in rooms below a folder, on a Chrome's path."""


def _playwright_mcp(*options: str) -> Opener:
    @asynccontextmanager
    async def open_it(installed: Path, rooms: Path, chrome: str) -> AsyncIterator[Tool]:
        program = str(installed / "node_modules/.bin/playwright-mcp")
        argv = [program, "--headless", "--isolated", "--executable-path", chrome, *options]
        argv += ["--no-sandbox"] if runs_without_sandbox() else []
        async with room(rooms, f"pw{len(options)}") as where, line_child(argv, where, {}) as child:
            client = McpClient(child)
            await client.begin()
            yield _Mcp(client, ("browser_navigate", "browser_snapshot"), {}, {})

    return open_it


@asynccontextmanager
async def chrome_devtools_mcp(installed: Path, rooms: Path, chrome: str) -> AsyncIterator[Tool]:
    """chrome-devtools-mcp by its documented options: headless, isolated, this browser, its first page."""
    program = str(installed / "node_modules/.bin/chrome-devtools-mcp")
    argv = [program, "--headless", "--isolated", "--no-usage-statistics", "--executablePath", chrome]
    argv += ["--chrome-arg=--no-sandbox"] if runs_without_sandbox() else []
    async with room(rooms, "cdm") as where, line_child(argv, where, {}) as child:
        client = McpClient(child)
        await client.begin()
        await client.call("list_pages", {}, START_S)
        yield _Mcp(client, ("navigate_page", "take_snapshot"), {"pageId": 1}, {"type": "url"})


@asynccontextmanager
async def agent_browser(installed: Path, rooms: Path, chrome: str) -> AsyncIterator[Tool]:
    """The agent-browser command; its daemon is started by the first page and ended at the end."""
    async with room(rooms, "ab") as where:
        added = {"AGENT_BROWSER_EXECUTABLE_PATH": chrome}
        if runs_without_sandbox():
            added["AGENT_BROWSER_ARGS"] = "--no-sandbox"
        tool = _AgentBrowser(native_agent_browser(installed), where.environment(added), where.folder)
        try:
            yield tool
        finally:
            with suppress(PeerFault):
                await tool.run(["close"], END_S)


@asynccontextmanager
async def _bridge(name: str, installed: Path, arguments: list[str], where: Room) -> AsyncIterator[Tool]:
    argv = [str(installed / "venv/bin/python"), str(BRIDGES / name), *arguments]
    added = {"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_VERSION_CHECK": "false"}
    async with line_child(argv, where, added) as child:
        await child.receive(START_S)
        yield _Bridge(child)


@asynccontextmanager
async def browser_use(installed: Path, rooms: Path, chrome: str) -> AsyncIterator[Tool]:
    """browser-use's session, driven by a script in its own environment."""
    async with room(rooms, "bu") as where:
        sandbox = "no-sandbox" if runs_without_sandbox() else "sandbox"
        arguments = [chrome, sandbox, str(where.folder / "profile")]
        async with _bridge("browser_use_bridge.py", installed, arguments, where) as tool:
            yield tool


@asynccontextmanager
async def browsergym(installed: Path, rooms: Path, chrome: str) -> AsyncIterator[Tool]:
    """BrowserGym's environment, driven by a script in its own environment."""
    async with room(rooms, "bg") as where, _bridge("browsergym_bridge.py", installed, [chrome], where) as tool:
        yield tool


@asynccontextmanager
async def ours(shown: Shown) -> AsyncIterator[Tool]:
    """Driver `current` with that formatter and read."""
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(current.start())
        endpoint = await stack.enter_async_context(local(load_settings()))
        driver = await stack.enter_async_context(host.attach(endpoint))
        yield _Ours(await driver.first_page(), shown)


COLD = {"playwright-mcp cold": "playwright-mcp"}
"""By its default its navigation has saved a snapshot already, so that the first one asked for is the second one made.
With this documented option it has not."""

OPENERS: dict[str, Opener] = {
    "playwright-mcp": _playwright_mcp(),
    "playwright-mcp cold": _playwright_mcp("--snapshot-mode", "none"),
    "chrome-devtools-mcp": chrome_devtools_mcp,
    "agent-browser": agent_browser,
    "browser-use": browser_use,
    "browsergym": browsergym,
}

OURS = {
    "current bounded": Shown(formatter="structured", ax="bounded"),
    "current full": Shown(formatter="structured", ax="full"),
    "current inline bounded": Shown(formatter="inline", ax="bounded"),
}
