"""A parent with its children: real processes that reach its browser over a Unix socket in a private folder.

A child's place in the roll lasts as long as its run, and whatever ends the run (its result, its exit, its time, the
host's end) ends its rights at once and then its page, whatever tools it had.
"""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from pydantic import JsonValue

from harness.config import child_environment
from harness.errors import SetupError, quoted
from harness.finish import finish
from harness.host.owners import PARENT
from harness.host.pages import OwnerPages
from harness.process import Command, OwnedProcess, owned_process, private_folder
from harness.subagents.channel import Asker, Channel
from harness.subagents.connection import ChildConnection
from harness.subagents.desk import Desk
from harness.subagents.messages import BrowserResult, Loadout
from harness.subagents.roll import Child, Roll
from harness.subagents.waits import REAP_S
from harness.tools.modes import Agent, ModeSource, current_mode, loadout
from harness.tools.verify import VerifyTools

SOCKET = "host.sock"
LOADOUT = "loadout.json"

BACKLOG = 16
"""Connections that wait to be accepted: children are few, and connect once."""

MAX_CONNECTIONS = 32
"""At a time, those included that have not said yet whose they are."""

RUN_S = 1_200.0
"""Seconds that a child's run may last, whoever runs it."""

IDLE_S = 600.0
"""Seconds without a call after which a child's page is ended; its run goes on, and its next call opens a page."""

LAST_WORDS_S = 2.0
"""Seconds in which what an ended child has sent is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a child runs; its loadout file is the last argument. `environment` is beside a home folder of its own."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def python_program(*arguments: str) -> Program:
    """This Python with these arguments; it can import `harness.subagents.child`."""
    packages = Path(__file__).resolve().parents[2]
    return Program(argv=(sys.executable, *arguments), environment={"PYTHONPATH": str(packages)})


@dataclass(slots=True, kw_only=True)
class Launched:
    """A child's place: its record, and the file from which it learns socket, owner, token and tools."""

    child: Child
    loadout: Path
    process: OwnedProcess | None = None

    @property
    def owner(self) -> str:
        """Whose page it works on."""
        return self.child.owner

    async def result(self) -> dict[str, JsonValue] | None:
        """The child's report; None: it ended without one. Unbounded: call it inside `asyncio.timeout`."""
        await self.child.ended.wait()
        return self.child.report


class SubagentHost:
    """The parent's end. `counts` tells what connections were ended for, and which frames were dropped."""

    def __init__(self, pages: OwnerPages, mode: ModeSource, folder: Path) -> None:
        self.pages = pages
        self.counts: Counter[str] = Counter()
        self.roll = Roll()
        self.channel = Channel()
        self._mode = mode
        self._folder = folder
        self._asker = Asker(self.channel)
        self.desk = Desk(self.channel, VerifyTools(pages=pages), self.roll.holds, mode)
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def socket(self) -> Path:
        """Where children connect."""
        return self._folder / SOCKET

    async def call(self, tool: str, params: dict[str, JsonValue]) -> BrowserResult:
        """The parent's own call, on its own page; the same gate, mode and bounds hold for it."""
        return await self._asker.ask(PARENT, tool, params)

    @asynccontextmanager
    async def place(self, agent: Agent, owner: str | None = None) -> AsyncIterator[Launched]:
        """A place for a child that somebody else runs: any process of this user that has the loadout file.

        `owner` is that of an ended child which is resumed; what it may do is decided anew.

        Raises:
            LoadoutRefused: as `harness.tools.modes.loadout`, in the parent's mode now.
            OwnerWrong: the owner is not one whose run has ended.
            SetupError: the loadout cannot be written.
        """
        child = self.roll.enter(loadout(agent, await current_mode(self._mode)), owner)
        reaping = asyncio.create_task(self._watch_over(child))
        try:
            async with private_folder() as folder:
                _write_loadout(folder / LOADOUT, self._loadout(child))
                child.started.set()
                yield Launched(child=child, loadout=folder / LOADOUT)
        finally:
            self.roll.leave(child)
            await finish(_wait(reaping))

    @asynccontextmanager
    async def spawn(self, agent: Agent, program: Program, owner: str | None = None) -> AsyncIterator[Launched]:
        """Run a child; at the end of the block nothing of it lives.

        Its place ends with its process. Only the process and its descendants may use its token.

        Raises:
            As `place`; ProcessNotStarted: the program cannot be run.
        """
        async with self.place(agent, owner) as placed:
            child, folder = placed.child, placed.loadout.parent
            child.started.clear()  # who it is, is not known yet
            environment = {**child_environment(folder, folder), **program.environment}
            command = Command(argv=(*program.argv, str(placed.loadout)), environment=environment)
            async with owned_process(command, folder) as process:
                child.pid, placed.process = process.pid, process
                child.started.set()
                watching = asyncio.create_task(_watch(process, child))
                try:
                    yield placed
                finally:
                    watching.cancel()
                    await finish(_wait(watching))

    async def _watch_over(self, child: Child) -> None:
        """End the page of a child that is idle, its run where that lasts too long, and its page with its run."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RUN_S):
                while not await child.ended_within(IDLE_S - child.idle_s()):
                    if child.idle_s() >= IDLE_S:
                        await self.pages.reap(child.owner)
                        child.rest()
        child.end()
        await self.pages.reap(child.owner)

    def _loadout(self, child: Child) -> Loadout:
        return Loadout(socket=str(self.socket), owner=child.owner, token=child.token, tools=sorted(child.tools))

    # ---- connections ----

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end, in a task of the host's; then the page of its owner is gone."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(lambda _: writer.close())  # a task may be cancelled before it begins
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ChildConnection((reader, writer), self.roll, self._asker, self.counts)
        try:
            if len(self._serving) <= MAX_CONNECTIONS:
                await connection.serve()
        finally:
            writer.close()
            if (child := connection.child) is not None:
                await self._left(child)

    async def _left(self, child: Child) -> None:
        try:
            if not child.ended.is_set():  # else it was reaped at its end
                await self.pages.reap(child.owner, REAP_S)
        finally:
            child.offline.set()

    async def close(self) -> None:
        """End all connections and calls; the rights of all children end first."""
        for child in self.roll.children():
            self.roll.leave(child)
        serving = tuple(self._serving)
        for task in serving:
            task.cancel()
        if serving:
            await asyncio.wait(serving)
        await self.desk.close()


@asynccontextmanager
async def subagent_host(pages: OwnerPages, mode: ModeSource) -> AsyncIterator[SubagentHost]:
    """A parent's end over its pages, until the block ends. The pages are the caller's, and so is their end.

    Raises:
        SetupError: there is no place for the socket, or the system has no Unix sockets.
    """
    async with private_folder() as folder:
        host = SubagentHost(pages, mode, folder)
        server = await _listen(host)
        try:
            yield host
        finally:
            server.close()
            await finish(host.close())


async def _listen(host: SubagentHost) -> asyncio.Server:
    if sys.platform == "win32":
        raise SetupError("subagents need Unix sockets, which this system has not")
    try:
        server = await asyncio.start_unix_server(host.accept, host.socket, backlog=BACKLOG)
        host.socket.chmod(0o600)
    except OSError as error:
        why = error.strerror or str(error)  # too long a path has no number
        raise SetupError(
            f"the socket {quoted(str(host.socket))} cannot be made: {why}; try a shorter TMPDIR"
        ) from error
    return server


def _write_loadout(path: Path, given: Loadout) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(orjson.dumps(given.wire()))
    except OSError as error:
        raise SetupError(f"the file {quoted(str(path))} cannot be written: {error.strerror}") from error


async def _watch(process: OwnedProcess, child: Child) -> None:
    """End the child's run with its process, once all that it sent is read."""
    await process.wait()
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_S):
            await child.offline.wait()
    child.end()


async def _wait(task: "asyncio.Task[None]") -> None:
    await asyncio.wait({task})
