"""`python -m tests.benchmarks.miniwob`: episodes of MiniWoB a minute, ours and BrowserGym's in turns, by one policy.

Every player gets the same tasks and seeds, hence the same goals. An episode is: a fresh page without cookies, the
task's page, its start, an observation before each action, the actions, and the raw reward. Starting a browser is
not counted. Exit code 1 where a player was not run or an episode was not won.
"""

import argparse
import asyncio
import functools
import http.server
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy
from rich.console import Console
from rich.table import Table

from formatters.render import render
from harness.config import load_settings
from harness.drivers import current
from harness.drivers.current import CurrentDriver
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.targets.chrome import find_chrome
from harness.targets.local import local
from observe.model import ActionRef
from tests.benchmarks.miniwob.policies import POLICIES, Act
from tests.benchmarks.peers.install import Peer, install
from tests.benchmarks.peers.measure import turned
from tests.benchmarks.peers.stdio import START_S, LineChild, line_child, room

BROWSERGYM = Peer(name="miniwob", client="pip", package="browsergym-miniwob", version="0.14.3", lacks="")
PAGES = Peer(name="miniwob-pages", client="pip", package="miniwob", version="1.1.0", lacks="")
EPISODE_S = 60.0
MAX_SEED = 1_000_000
START = "seed => { Math.seedrandom(seed); core.EPISODE_MAX_TIME = 1000000; core.startEpisodeReal(); }"
TEXT_FIELDS = ("textbox", "password")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """An episode that was played to its end."""

    goal: str
    reward: float
    ms: float


class Player(Protocol):
    """Who plays episodes."""

    async def play(self, task: str, seed: int) -> Played: ...


class Theirs:
    """BrowserGym's environment."""

    def __init__(self, child: LineChild) -> None:
        self._child = child

    async def play(self, task: str, seed: int) -> Played:
        await self._child.send({"task": task, "seed": seed})
        return Played(**await self._child.receive(EPISODE_S))


class Ours:
    """Driver `current`, formatter `structured`, the full read."""

    def __init__(self, driver: CurrentDriver, address: str) -> None:
        self._driver = driver
        self._address = address

    async def play(self, task: str, seed: int) -> Played:
        start = time.perf_counter()
        page = await self._driver.fresh_page()
        try:
            goal, reward = await self._episode(page, task, seed)
        finally:
            await page.close()
        return Played(goal=goal, reward=reward, ms=(time.perf_counter() - start) * 1000)

    async def _episode(self, page: CurrentPage, task: str, seed: int) -> tuple[str, float]:
        await page.navigate(f"{self._address}/{task}.html")
        await page._page.evaluate(START, int(numpy.random.RandomState(seed).randint(0, MAX_SEED)))  # as BrowserGym's
        goal = await page._page.evaluate("core.getUtterance()")
        tab = Tab(page)
        for act in POLICIES[task](goal):
            observation = await tab.observe("ax")
            render(observation, "structured")
            target = await tab.target(_found(observation.refs, act))
            await (page.click(target) if act.text is None else page.type(target, act.text))
            await page.settle()
        await tab.observe("ax")  # BrowserGym's last step observes, too
        return goal, await page._page.evaluate("WOB_RAW_REWARD_GLOBAL")


def _found(refs: Sequence[ActionRef], act: Act) -> str:
    if act.text is not None:
        return [ref.ref for ref in refs if ref.role in TEXT_FIELDS][act.number]
    return next(ref.ref for ref in refs if (ref.role, ref.name) == (act.role, act.name))


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/miniwob"
        finally:
            server.shutdown()
            thread.join()


@asynccontextmanager
async def _players(root: Path) -> AsyncIterator[dict[str, Player]]:
    pages, gym = await install(PAGES, root), await install(BROWSERGYM, root)
    html = next((pages / "venv").glob("lib/python*/site-packages/miniwob/html"))
    chrome = find_chrome(load_settings())
    async with AsyncExitStack() as stack:
        address = stack.enter_context(_served(html))
        host = await stack.enter_async_context(current.start())
        endpoint = await stack.enter_async_context(local(load_settings()))
        players: dict[str, Player] = {"axtrial": Ours(await stack.enter_async_context(host.attach(endpoint)), address)}
        for waits in ("default", "none"):
            where = await stack.enter_async_context(room(root, f"mw-{waits}"))
            argv = [str(gym / "venv/bin/python"), str(Path(__file__).parent / "bridge.py"), str(chrome.path), waits]
            child = await stack.enter_async_context(line_child(argv, where, {"MINIWOB_URL": f"{address}/"}))
            await child.receive(START_S)
            players[f"browsergym, {'by default' if waits == 'default' else 'without its waits'}"] = Theirs(child)
        yield players


async def main(tasks: Sequence[str], rounds: int) -> int:
    """Measure and print; the exit code."""
    taken: dict[str, list[Played]] = {}
    with tempfile.TemporaryDirectory(prefix="axminiwob-") as made:
        async with _players(Path(os.environ.get("PEERS_DIR", made))) as players:
            names = list(players)
            for name in names:
                for task in tasks:
                    await players[name].play(task, 0)  # not counted: each player's first one of a task is slower
            for number in range(1, rounds + 1):
                for task in tasks:
                    goals = set()
                    for name in turned(names, number):
                        played = await players[name].play(task, number)
                        taken.setdefault(name, []).append(played)
                        goals.add(played.goal)
                    assert len(goals) == 1, goals
    table = Table("player", "episodes", "won", "median ms", "episodes a minute", title=f"{len(tasks)} tasks")
    for name, each in taken.items():
        times = [one.ms for one in each]
        rate = 60_000 * len(times) / sum(times)
        won = sum(one.reward > 0 for one in each)
        table.add_row(name, str(len(each)), str(won), f"{statistics.median(times):.0f}", f"{rate:.1f}")
    Console(width=100).print(table)
    return 0 if all(one.reward > 0 for each in taken.values() for one in each) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.miniwob", description=__doc__)
    parser.add_argument("--tasks", default=",".join(POLICIES), help="names, parted by commas")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.tasks.split(","), given.rounds)))
