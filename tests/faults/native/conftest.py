"""The driver `agent-browser` on a Chromium of its own, whose temp folder must be empty in the end."""

import asyncio
import http.server
import os
import select
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.config import load_settings
from harness.drivers.agent_browser import AgentDriver, AgentHost
from harness.drivers.agent_page import AgentPage
from harness.drivers.agent_queue import Bounds
from harness.drivers.native_pin import NativeBinary
from harness.host.tab import Tab
from harness.targets.base import Endpoint
from harness.targets.local import local

BOUND_S = 50.0


@dataclass(slots=True, kw_only=True)
class Native:
    """A driver `agent-browser` on a Chromium of its own; temp files go to `temp`."""

    endpoint: Endpoint
    driver: AgentDriver
    temp: Path

    def child(self, number: int = 0) -> int:
        """The process id of a native child, in the order of the tabs."""
        return self.driver._queue.children[number].pid

    async def stop(self, pid: int) -> None:
        """Stop a process; on return none of its threads runs any more."""
        os.kill(pid, signal.SIGSTOP)
        async with asyncio.timeout(10):
            while not all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in _threads(pid)):  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # the kernel tells nobody but the parent, which asyncio is

    async def gone(self, *pids: int) -> bool:
        """Whether these processes end within bounds; they are not reaped here."""
        return all([await asyncio.to_thread(_ends, pid) for pid in pids])

    async def show(self, page: AgentPage, address: str) -> Tab:
        """Load an address; a tab that has observed it."""
        await page.navigate(address)
        tab = Tab(page)
        await tab.observe("ax")
        return tab

    async def click(self, tab: Tab, number: int = 0) -> None:
        """Click what the ref of that number names."""
        latest = tab._latest
        assert latest is not None
        await tab.page.click(await tab.target(latest.refs[number].ref))

    async def evaluate(self, page: AgentPage, script: str) -> Any:
        """What a script gives in the page's own world."""
        answer = await page._cdp.send("Runtime.evaluate", {"expression": script})
        return answer["result"].get("value")

    async def tabs(self) -> list[tuple[str, str]]:
        """Id and title of each tab."""
        found = await self.driver._browser.send("Target.getTargets", {"filter": [{"type": "page"}]})
        return sorted((each["targetId"], each["title"]) for each in found["targetInfos"])

    async def titled(self, *expected: tuple[str, str]) -> None:
        """Return once these are the ids and titles of the tabs: the browser hears of a title after its page has it."""
        browser, changed = self.driver._browser, asyncio.Event()
        with browser.heard("Target.targetInfoChanged", lambda _params, _session: changed.set()):
            await browser.send("Target.setDiscoverTargets", {"discover": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(BOUND_S):
                    while await self.tabs() != sorted(expected):
                        await changed.wait()
                        changed.clear()
        assert await self.tabs() == sorted(expected)


def _threads(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").glob("*/stat"))


def _ends(pid: int) -> bool:
    try:
        ending = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return select.select([ending], [], [], BOUND_S)[0] == [ending]
    finally:
        os.close(ending)


StartNative = Callable[..., AbstractAsyncContextManager[Native]]


@pytest.fixture
def start_native(monkeypatch: pytest.MonkeyPatch) -> Iterator[StartNative]:
    """Starts the driver with a Chromium of its own. At the end of the test no process and no folder may be left."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        temp = Path(name)

        @asynccontextmanager
        async def start(binary: NativeBinary, bounds: Bounds | None = None) -> AsyncIterator[Native]:
            async with local(load_settings()) as endpoint, AgentHost(binary, bounds).attach(endpoint) as driver:
                yield Native(endpoint=endpoint, driver=driver, temp=temp)

        yield start
        assert (below(temp), sorted(path.name for path in temp.iterdir())) == ([], [])


def below(folder: Path) -> list[int]:
    """Living processes whose home is in `folder`."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            home = process.environ().get("HOME", "")
            if home.startswith(f"{folder}/") and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


class _Numbered(http.server.BaseHTTPRequestHandler):
    """Each load of a page has its own number: in the title, in the first name and in the last."""

    loads: Iterator[int]
    clickables: int

    def do_GET(self) -> None:
        mark = f"{self.path.lstrip('/')}-{next(self.loads)}"
        middle = "".join(f"<div onclick='0'>{mark} {number}</div>" for number in range(self.clickables))
        body = f"<!doctype html><title>{mark}</title><p>first {mark}</p>{middle}<p>last {mark}</p>".encode()
        with suppress(OSError):  # a load that the next one overtakes
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


@pytest.fixture
def numbered() -> Iterator[str]:
    """The address of pages with 1,500 clickable elements, no two loads of which are equal."""
    handler = type("Handler", (_Numbered,), {"loads": iter(range(1, 1_000)), "clickables": 1_500})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
