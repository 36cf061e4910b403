"""Who plays episodes of MiniWoB: driver `current`, and BrowserGym's environment in a Python of its own."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy

from formatters.catalog import get
from formatters.render import render
from harness.config import load_settings
from harness.drivers import current
from harness.drivers.current import CurrentDriver
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.targets.local import local
from observe.model import ActionRef
from tests.benchmarks.miniwob.policies import POLICIES, Act
from tests.benchmarks.peers.install import Peer, install
from tests.benchmarks.peers.stdio import START_S, LineChild, PeerFault, line_child, room
from tests.benchmarks.peers.tools import BRIDGES

BROWSERGYM = Peer(
    name="miniwob",
    client="pip",
    package="browsergym-miniwob",
    version="0.14.3",
    lacks="by default each reset starts a browser and its chat's browser anew, each command waits 0.1 s (`slow_mo`),"
    " each step 0.5 s (`pre_observation_delay`), and each observation has a screenshot and a DOM snapshot.",
)
PAGES = Peer(name="miniwob-pages", client="pip", package="miniwob", version="1.1.0", lacks="the tasks' pages alone.")

EPISODE_S = 60.0
"""Seconds for one episode: the slowest takes some five."""

MAX_SEED = 1_000_000
START = """seed => {
  Math.seedrandom(seed);
  core.EPISODE_MAX_TIME = 1000000;
  core.startEpisodeReal();
  return core.getUtterance();
}"""
TEXT_FIELDS = ("textbox", "password")
FORMATTER = get("structured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """An episode that was played to its end."""

    goal: str
    reward: float
    ms: float


class Player(Protocol):
    """Who plays episodes."""

    async def play(self, task: str, seed: int) -> Played:
        """Play one. Raises: PeerFault, or a refusal of ours."""
        ...


class Theirs:
    """BrowserGym's environment."""

    def __init__(self, child: LineChild) -> None:
        self._child = child

    async def play(self, task: str, seed: int) -> Played:
        await self._child.send({"task": task, "seed": seed})
        return Played(**await self._child.receive(EPISODE_S))


class Ours:
    """Driver `current`, formatter `structured`, bounded reads; each episode in a fresh page, or all in that given."""

    def __init__(self, driver: CurrentDriver, pages: str, kept: CurrentPage | None = None) -> None:
        self._driver = driver
        self._pages = pages
        self._kept = kept

    async def play(self, task: str, seed: int) -> Played:
        start = time.perf_counter()
        if self._kept is not None:
            goal, reward = await self._episode(self._kept, task, seed)
        else:
            page = await self._driver.fresh_page()
            try:
                goal, reward = await self._episode(page, task, seed)
            finally:
                await page.close()
        return Played(goal=goal, reward=reward, ms=(time.perf_counter() - start) * 1000)

    async def _episode(self, page: CurrentPage, task: str, seed: int) -> tuple[str, float]:
        await page.navigate(f"{self._pages}{task}.html")
        # BrowserGym draws the seed of a task's page from the episode's in the same way
        goal = await page._page.evaluate(START, int(numpy.random.RandomState(seed).randint(0, MAX_SEED)))
        tab = Tab(page)
        for act in POLICIES[task](goal):
            refs = await _observed(tab)
            target = await tab.target(_found(refs, act))
            await (page.click(target) if act.text is None else page.type(target, act.text))
            await page.settle()
        await _observed(tab)  # BrowserGym's last step observes, too
        return goal, await page._page.evaluate("WOB_RAW_REWARD_GLOBAL")


async def _observed(tab: Tab) -> tuple[ActionRef, ...]:
    observation = await tab.observe("ax", FORMATTER.filled)
    render(observation, FORMATTER.name)
    return observation.refs


def _found(refs: Sequence[ActionRef], act: Act) -> str:
    if act.text is not None:
        return [ref.ref for ref in refs if ref.role in TEXT_FIELDS][act.number]
    return next(ref.ref for ref in refs if (ref.role, ref.name) == (act.role, act.name))


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[str]:
    """The address of a folder's files, which a process of their own serves: it takes no time from any player's.

    Raises: PeerFault.
    """
    argv = [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder)]
    process = await asyncio.create_subprocess_exec(
        *(*argv, "--protocol", "HTTP/1.1", "0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_S):
            said = (await process.stdout.readline()).decode()
        if "(http:" not in said:
            raise PeerFault("the server of the pages did not start")
        yield said.partition("(")[2].partition(")")[0]
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


MODES: dict[str, Literal["default", "eager", "kept"]] = {
    "browsergym, by default": "default",
    "browsergym, without its waits": "eager",
    "browsergym, without its waits, one page": "kept",
}


@asynccontextmanager
async def players(root: Path, rooms: Path, chrome: str) -> AsyncIterator[dict[str, Player]]:
    """All players by name, from the two installations below `root`, in rooms below a folder, on a Chrome's path.

    Raises: NotInstalled, PeerFault, DriverError, TargetError.
    """
    gym, pages = await install(BROWSERGYM, root), await install(PAGES, root)
    html = next((pages / "venv").glob("lib/python*/site-packages/miniwob/html"))
    async with AsyncExitStack() as stack:
        address = f"{await stack.enter_async_context(served(html))}miniwob/"
        host = await stack.enter_async_context(current.start())
        drivers = [
            await stack.enter_async_context(host.attach(await stack.enter_async_context(local(load_settings()))))
            for _ in range(2)
        ]
        made: dict[str, Player] = {
            "axtrial": Ours(drivers[0], address),
            "axtrial, one page": Ours(drivers[1], address, await drivers[1].first_page()),
        }
        added = {"MINIWOB_URL": address, "PYTHONPATH": str(Path(__file__).parent)}
        for name, mode in MODES.items():
            where = await stack.enter_async_context(room(rooms, mode))
            argv = [str(gym / "venv/bin/python"), str(BRIDGES / "miniwob_bridge.py"), chrome, mode]
            child = await stack.enter_async_context(line_child(argv, where, added))
            await child.receive(START_S)
            made[name] = Theirs(child)
        yield made
