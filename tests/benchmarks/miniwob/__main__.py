"""`python -m tests.benchmarks.miniwob`: episodes of MiniWoB a minute, ours and BrowserGym's in turns, by one policy.

Every player gets the same tasks and seeds, hence the same goals. An episode is: a fresh page (or the one that is kept),
the task's page, its start, an observation before each action and after the last one, the actions, the raw reward, and
the page's end. Exit code 1 where a player was not run or an episode was not won.
"""

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.config import load_settings
from harness.errors import AxtrialError
from harness.targets.chrome import find_chrome
from tests.benchmarks.miniwob.players import BROWSERGYM, Played, Player, players
from tests.benchmarks.miniwob.policies import POLICIES
from tests.benchmarks.peers.install import NotInstalled, installations
from tests.benchmarks.peers.measure import FAULTS, turned

WIDTH = 110
"""Columns of the output where it goes to no terminal."""

ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of the command line."""

    tasks: list[str]
    rounds: int
    keep: bool


def asked(arguments: Sequence[str]) -> Asked:
    """The options, checked."""
    parser = argparse.ArgumentParser(prog="make miniwob", description=__doc__)
    parser.add_argument("--tasks", default=",".join(POLICIES), help="names, parted by commas (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="default: %(default)s")
    parser.add_argument("--keep", action="store_true", help="keep the installations")
    given = parser.parse_args(arguments)
    made = Asked(tasks=given.tasks.split(","), rounds=given.rounds, keep=given.keep)
    if unknown := [name for name in made.tasks if name not in POLICIES]:
        parser.error(f"no policy for: {', '.join(unknown)}")
    if made.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return made


async def measured(options: Asked, console: Console) -> dict[str, list[Played]]:
    """The episodes of each player.

    Raises: NotInstalled, AxtrialError, and what FAULTS names.
    """
    chrome = find_chrome(load_settings())
    load = os.getloadavg()[0]
    async with installations(options.keep, console.print) as root, AsyncExitStack() as stack:
        console.print("installing BrowserGym's MiniWoB and its pages with pip")
        rooms = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="axm-", ignore_cleanup_errors=True)))
        playing = await stack.enter_async_context(players(root, rooms, str(chrome.path)))
        taken = await in_turns(playing, options)
        console.print(f"Chromium {chrome.version}; load average {load:.1f} before, {os.getloadavg()[0]:.1f} at the end")
    return taken


async def in_turns(playing: Mapping[str, Player], options: Asked) -> dict[str, list[Played]]:
    """Each task and seed by one player after the other, in an order that turns. The first episode of a task is slower
    for each, and not counted.
    """
    taken: dict[str, list[Played]] = {name: [] for name in playing}
    for number in range(options.rounds + 1):
        for place, task in enumerate(options.tasks):
            goals = set()
            for name in turned(list(playing), number + place):
                played = await playing[name].play(task, number)
                goals.add(played.goal)
                if number > 0:
                    taken[name].append(played)
            assert len(goals) == 1, f"{task}, seed {number}: the players got different goals"
    return taken


def table(taken: Mapping[str, Sequence[Played]]) -> Table:
    """Each player's figures."""
    made = Table("player", "episodes", "won", "median ms", "episodes a minute", "times")
    rates = {name: 60_000 * len(each) / sum(one.ms for one in each) for name, each in taken.items()}
    first = next(iter(rates.values()))
    for name, each in taken.items():
        median = statistics.median(one.ms for one in each)
        won = sum(one.reward > 0 for one in each)
        figures = (str(len(each)), str(won), f"{median:.0f}", f"{rates[name]:.1f}", f"{first / rates[name]:.1f}")
        made.add_row(name, *figures)
    made.caption = "times: how many times as many episodes the first player plays"
    return made


async def main(options: Asked) -> int:
    """The exit code."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    try:
        taken = await measured(options, console)
    except NotInstalled as error:
        console.print(f"not run: not installed: {error}", markup=False)
        return 1
    except AxtrialError as error:
        console.print(f"not run: {error.message}", markup=False)
        return 1
    except FAULTS as error:
        console.print(f"broke off: {type(error).__name__}: {error}", markup=False)
        return 1
    console.print(table(taken))
    console.print(f"- browsergym: {BROWSERGYM.lacks}", markup=False)
    return 0 if all(one.reward > 0 for each in taken.values() for one in each) else 1


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(asyncio.run(main(asked(sys.argv[1:]))))
    sys.exit(130)
