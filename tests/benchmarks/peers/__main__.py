"""`python -m tests.benchmarks.peers`: installs the peers, measures them and us side by side, prints tables.

Exit code 0 where every tool asked for was measured on every page asked for; 1 where one was not run or broke off.
"""

import argparse
import asyncio
import contextlib
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from formatters.tokens import estimate, load_encoding
from harness.config import install_encoding, load_settings
from harness.errors import AxtrialError, SetupError
from harness.targets.chrome import find_chrome
from tests.benchmarks.peers import figures
from tests.benchmarks.peers.install import PEERS, NotInstalled, install, installations
from tests.benchmarks.peers.measure import CELL_S, FAULTS, Measuring
from tests.benchmarks.peers.pages import Page, pages
from tests.benchmarks.peers.serve import serve
from tests.benchmarks.peers.tools import COLD, OPENERS, OURS, Tool, ours

WIDTH = 132
"""Columns of the output where it goes to no terminal."""

OURS_LACKS = (
    "both: the tree cut at 12,000 characters and at most 250 refs, each marked; bounded: the rest is not counted."
)

LEAST_ROUNDS = 9
"""Rounds of a run whose medians are worth showing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of the command line."""

    pages: list[str]
    tools: list[str]
    rounds: int
    keep: bool
    json: Path | None
    markdown: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a run. `not_run`: tools that were never measured, with the reason."""

    cells: list[figures.Cell]
    leads: list[figures.Lead]
    not_run: dict[str, str]
    facts: dict[str, str]


def asked(arguments: Sequence[str]) -> Asked:
    """The options, checked."""
    known_tools = [*OURS, *OPENERS]
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("--pages", default=",".join(pages()), help="names, parted by commas (default: %(default)s)")
    parser.add_argument("--tools", default=",".join(known_tools), help="names, parted by commas (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS, help="default: %(default)s")
    parser.add_argument("--keep", action="store_true", help="keep the installations")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    parser.add_argument("--markdown", type=Path, help="write the tables into this file")
    given = parser.parse_args(arguments)
    made = Asked(
        pages=given.pages.split(","),
        tools=given.tools.split(","),
        rounds=given.rounds,
        keep=given.keep,
        json=given.json,
        markdown=given.markdown,
    )
    if unknown := [name for name in made.pages if name not in pages()]:
        parser.error(f"no such page: {', '.join(unknown)}")
    if unknown := [name for name in made.tools if name not in known_tools]:
        parser.error(f"no such tool: {', '.join(unknown)}")
    if made.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return made


async def measured(options: Asked, console: Console) -> Result:
    """Installs, opens, measures; everything that was started has ended afterwards."""
    chrome = find_chrome(load_settings())
    not_run: dict[str, str] = {}
    chosen = {name: page for name, page in pages().items() if name in options.pages}
    load = [os.getloadavg()[0]]
    async with installations(options.keep, console.print) as root, AsyncExitStack() as stack:
        folders = await installed(options, root, not_run, console)
        rooms = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="axp-", ignore_cleanup_errors=True)))
        tools = await opened(options, folders, (rooms, str(chrome.path), stack), not_run)
        server = await stack.enter_async_context(serve(pages()))
        work = Measuring(tools=tools, server=server, tokens=token_counter(), report=console.print)
        await work.warm(pages()["20"])
        cells = [each for page in chosen.values() for each in await work.page(page, options.rounds)]
        load.append(os.getloadavg()[0])
    not_run |= {name: why for name, why in work.broken.items() if name not in not_run}
    leads = [figures.lead(page, cells, next(iter(OURS)), list(OPENERS)) for page in chosen]
    return Result(cells=cells, leads=leads, not_run=not_run, facts=machine(chrome.version, load))


async def installed(options: Asked, root: Path, not_run: dict[str, str], console: Console) -> dict[str, Path]:
    """The folders of the peers that could be installed."""
    folders: dict[str, Path] = {}
    for peer in PEERS:
        if peer.name not in {COLD.get(name, name) for name in options.tools}:
            continue
        console.print(f"installing {peer.package} {peer.version} with {peer.client}")
        try:
            folders[peer.name] = await install(peer, root)
        except NotInstalled as error:
            not_run |= dict.fromkeys(named(peer.name, options.tools), f"not installed: {error}")
    return folders


def named(peer: str, tools: Sequence[str]) -> list[str]:
    """The tools asked for that are this peer."""
    return [name for name in tools if COLD.get(name, name) == peer]


async def opened(
    options: Asked, folders: dict[str, Path], with_what: tuple[Path, str, AsyncExitStack], not_run: dict[str, str]
) -> dict[str, Tool]:
    """The tools that started, each with its browser."""
    rooms, chrome, stack = with_what
    tools: dict[str, Tool] = {}
    for name in options.tools:
        try:
            if name in OURS:
                tools[name] = await stack.enter_async_context(ours(OURS[name]))
            elif (folder := folders.get(COLD.get(name, name))) is not None:
                tools[name] = await stack.enter_async_context(OPENERS[name](folder, rooms, chrome))
        except FAULTS as error:
            not_run[name] = f"not started: {type(error).__name__}: {error}"
    return tools


def token_counter() -> Callable[[str], int | None]:
    """Counts estimated tokens; gives None where the encoding cannot be brought."""
    try:
        file = install_encoding(load_settings())
    except SetupError:
        return lambda text: None
    encoding = load_encoding(folder=file.path.parent)
    return lambda text: estimate(text, encoding)


def machine(chrome: str, load: list[float]) -> dict[str, str]:
    """What the figures were measured on."""
    versions = {peer.name: f"{peer.package} {peer.version} ({peer.client})" for peer in PEERS}
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "load average (start, end)": " ".join(f"{each:.1f}" for each in load),
        "browser": f"Chromium {chrome}, one for each tool, headless",
        "axtrial": version("axtrial"),
        **versions,
    }


def show(result: Result, console: Console) -> str:
    """Print the tables; the same as markdown."""
    known = pages()
    rows = [figures.row(each, *_planted(known[each.page])) for each in result.cells]
    table = Table(*figures.COLUMNS)
    for each in rows:
        table.add_row(*each)
    console.print(table)
    lead_columns = ("page", "first: fastest peer", "times faster", "repeated: fastest peer", "times faster")
    lead_rows = [
        (each.page, each.peer_first or "-", _times(each.first), each.peer_again or "-", _times(each.again))
        for each in result.leads
    ]
    leads = Table(*lead_columns, title="current bounded beside the fastest peer")
    for lead in lead_rows:
        leads.add_row(*lead)
    console.print(leads)
    notes = [f"- {name}: {what}" for name, what in result.facts.items()]
    notes += [f"- {peer.name}: {peer.lacks}" for peer in PEERS]
    notes += [
        f"- current: {OURS_LACKS}",
        f"- fewer rounds where a tool took more than {CELL_S:.0f} s for a page's snapshots",
    ]
    notes += [f"- not run: {name}: {why}" for name, why in result.not_run.items()]
    console.print("\n".join(notes), markup=False)
    parts = [figures.markdown(figures.COLUMNS, rows), figures.markdown(lead_columns, lead_rows), "\n".join(notes)]
    return "\n\n".join(parts) + "\n"


def _planted(page: Page) -> tuple[int, int]:
    return len(page.facts), len(page.near)


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


async def main(options: Asked) -> int:
    """The exit code."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    try:
        result = await measured(options, console)
    except AxtrialError as error:
        console.print(f"not run: {error.message}", markup=False)
        return 1
    text = show(result, console)
    if options.markdown is not None:
        options.markdown.write_text(text, encoding="utf-8")
    if options.json is not None:
        data = {**figures.as_json(result.cells, result.leads), "not_run": result.not_run, "facts": result.facts}
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 1 if result.not_run else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(asyncio.run(main(asked(sys.argv[1:]))))
    sys.exit(130)
