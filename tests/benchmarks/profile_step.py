"""`python -m tests.benchmarks.profile_step`: where the time of one observation and of one step of a trial goes.

Full and bounded reads take turns on the same pages in one browser. Milliseconds on the clock, and processor time of
Chrome's renderers, of its browser process and of our own; medians. Then the memory of our process above idle, at its
highest while it observes. Linux alone, as it reads /proc.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from formatters.catalog import get
from formatters.render import render
from harness.config import load_settings
from harness.drivers import current
from harness.drivers.cdp import CdpConnection, open_cdp
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.targets.local import local
from observe.model import Observation
from tests.benchmarks.peers.pages import pages

ROUNDS = 9
QUIET_S = 0.25
"""As in the measurement beside the peers: what Chrome prepares behind the scenes is done by then."""

Read = Literal["full", "bounded"]
READS: tuple[Read, Read] = ("full", "bounded")
FORMATTER = "structured"
PARTS = ("whole", "tree", "refs", "rendering", "renderer", "browser", "own")
STEP = ("observe", "render", "click", "settle")
MEGABYTE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A page of a browser, and the ids of the browser's processes by their kind."""

    page: CurrentPage
    tab: Tab
    browser: CdpConnection

    async def processes(self) -> dict[str, list[int]]:
        """Process ids of renderers and of the browser itself."""
        found: dict[str, list[int]] = {"renderer": [], "browser": []}
        for each in (await self.browser.send("SystemInfo.getProcessInfo"))["processInfo"]:
            found.setdefault(each["type"], []).append(each["id"])
        return found


@asynccontextmanager
async def opened() -> AsyncIterator[Opened]:
    """A browser with one page."""
    async with (
        current.start() as host,
        local(load_settings()) as endpoint,
        host.attach(endpoint) as driver,
        open_cdp(endpoint.browser_ws) as browser,
    ):
        page = await driver.first_page()
        yield Opened(page=page, tab=Tab(page), browser=browser)


def processor_ms(processes: Sequence[int]) -> float:
    """Milliseconds that all threads of these processes have run."""
    files = [file for process in processes for file in Path(f"/proc/{process}/task").glob("*/schedstat")]
    return sum(int(file.read_text().split()[0]) for file in files) / 1e6


async def observed(opened: Opened, read: Read) -> dict[str, float]:
    """One observation with its rendering, by parts."""
    processes = await opened.processes()
    before = {kind: processor_ms(ids) for kind, ids in processes.items()}
    own, start = time.process_time(), time.perf_counter()
    observation = await _observe(opened, read)
    rendering_at = time.perf_counter()
    render(observation, FORMATTER)
    end = time.perf_counter()
    taken = {kind: processor_ms(ids) - before[kind] for kind, ids in processes.items()}
    cost = observation.cost
    return {
        "whole": (end - start) * 1000,
        "tree": cost.ax_ms or 0.0,
        "refs": cost.dom_ms,
        "rendering": (end - rendering_at) * 1000,
        "renderer": taken["renderer"],
        "browser": taken["browser"],
        "own": (time.process_time() - own) * 1000,
    }


async def _observe(opened: Opened, read: Read) -> Observation:
    return await opened.tab.observe("ax", get(FORMATTER).filled if read == "bounded" else None)


async def step(opened: Opened, read: Read) -> dict[str, float]:
    """What a step of a trial does around the model: observe, render, click the first button, wait until it is quiet."""
    marks = [time.perf_counter()]

    def mark() -> None:
        marks.append(time.perf_counter())

    observation = await _observe(opened, read)
    mark()
    render(observation, FORMATTER)
    mark()
    button = next(ref.ref for ref in observation.refs if ref.role == "button" and ref.state.disabled is None)
    await opened.page.click(await opened.tab.target(button))
    mark()
    await opened.page.settle()
    mark()
    return {name: (after - before) * 1000 for name, before, after in zip(STEP, marks, marks[1:], strict=False)}


async def profile(opened: Opened, address: Callable[[str], str], names: Sequence[str], rounds: int) -> list[list[str]]:
    """The rows of the table: pages, reads, first and repeated observation, then a step."""
    rows = []
    for name in names:
        taken: dict[tuple[Read, str], list[dict[str, float]]] = {}
        for number in range(rounds):
            for read in reversed(READS) if number % 2 else READS:
                await opened.page.navigate(f"{address(name)}?{number}")
                await opened.page.settle()
                await asyncio.sleep(QUIET_S)
                for which in ("first", "repeated"):
                    taken.setdefault((read, which), []).append(await observed(opened, read))
                taken.setdefault((read, "step"), []).append(await step(opened, read))
        for (read, which), each in sorted(taken.items()):
            parts = STEP if which == "step" else PARTS
            medians = [f"{statistics.median(one[part] for one in each):.1f}" for part in parts]
            rows.append([name, read, which, *medians])
    return rows


def highest_mb() -> float:
    """Megabytes of memory that this process has had at once since `reset_highest`."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / MEGABYTE


def reset_highest() -> None:
    """Let the highest count from what it is now."""
    Path("/proc/self/clear_refs").write_text("5")


async def memory_mb(opened: Opened, address: str, read: Read) -> float:
    """Megabytes above idle while the page is observed and rendered."""
    await opened.page.navigate(address)
    await opened.page.settle()
    reset_highest()
    idle = highest_mb()
    render(await _observe(opened, read), FORMATTER)
    return highest_mb() - idle


def _shown(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    return table


async def main(names: Sequence[str], rounds: int) -> None:
    """Measure and print."""
    console = Console(width=132)
    with tempfile.TemporaryDirectory(prefix="axprofile-") as folder:
        for name, page in pages().items():
            (Path(folder) / f"{name}.html").write_text(page.html, encoding="utf-8")

        def address(name: str) -> str:
            return (Path(folder) / f"{name}.html").as_uri()

        async with opened() as browser:
            memory = [
                [name, read, f"{await memory_mb(browser, address(name), read):.0f}"]
                for read in reversed(READS)
                for name in names
            ]
            rows = await profile(browser, address, names, rounds)
    heads = ("page", "read", "which")
    console.print(_shown("an observation, ms", (*heads, *PARTS), [row for row in rows if row[2] != "step"]))
    console.print(_shown("a step, ms", (*heads, *STEP), [row for row in rows if row[2] == "step"]))
    console.print(_shown("memory above idle, MB", ("page", "read", "highest"), memory))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.profile_step", description=__doc__)
    parser.add_argument("--pages", default="20,form,500,5000,20000", help="names, parted by commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    asyncio.run(main(given.pages.split(","), given.rounds))
