"""Owned child processes, each in its own group and its own private folder; both are gone when the owner leaves.

Invariants: a folder carries the record of its owner and of its children from the moment a child runs; cleanup is not
interrupted by cancellation and is bounded in time; on Linux a child ends with its owner, whatever ends that; what a
killed owner leaves behind else, folders and on other systems processes, the next `sweep_leftovers` takes.
"""

import asyncio
import contextlib
import errno
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.config import whole_environment
from harness.errors import ProcessNotStarted, quoted
from harness.finish import finish as finish
from harness.leftovers import HARD, drop_folder, end_users, kill_group, new_folder, record_child
from harness.tied import tied

MAX_CAPTURE_BYTES = 64 * 1024
"""Last bytes kept of an output: the end is where a program says why it died."""

TERM_S = 2.0
"""Seconds between the polite signal and the hard one."""

GONE_S = 2.0
"""Seconds to wait for killed processes to vanish: the kernel tears them down after the signal."""

DRAIN_S = 0.5
"""Seconds to wait for the last output of a program that has ended; a grandchild may hold the pipe open for longer."""

FOLDER_S = 2.0
"""Seconds to retry the removal of a folder into which a dying program still writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program to run. `environment` is all it gets. `keep_output`: also capture stdout, else only stderr.

    `close_s`: seconds for it to end by itself once its stdin is closed; 0: stdin is empty and it is signalled at once.
    `tied`: on Linux it is killed when its owner is; False: it ends by itself then, and wants the time for it. `kept`:
    open files that it gets too, under their own numbers; not on Windows.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    keep_output: bool = False
    close_s: float = 0.0
    term_s: float = TERM_S
    tied: bool = True
    kept: tuple[int, ...] = ()


@dataclass(slots=True)
class _Ring:
    data: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        self.data += chunk
        if len(self.data) > MAX_CAPTURE_BYTES:
            del self.data[:-MAX_CAPTURE_BYTES]

    def text(self) -> str:
        return self.data.decode("utf-8", errors="replace")


class _Watch(asyncio.SubprocessProtocol):
    """Receives output and end from the event loop: no reader task that could be left behind."""

    def __init__(self) -> None:
        self.stdout = _Ring()
        self.stderr = _Ring()
        self.news = asyncio.Event()
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.stdout if fd == 1 else self.stderr).add(data)
        self.news.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.drained.set()
        self.news.set()


class OwnedProcess:
    """A running child. Made by `owned_process` only."""

    def __init__(self, transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
        self._transport = transport
        self._watch = watch
        self.pid = transport.get_pid()

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._transport.get_returncode()

    @property
    def stdout(self) -> str:
        """The last `MAX_CAPTURE_BYTES` of stdout, where it is kept."""
        return self._watch.stdout.text()

    @property
    def stderr(self) -> str:
        """The last `MAX_CAPTURE_BYTES` of stderr."""
        return self._watch.stderr.text()

    def last_line(self) -> str:
        """The last line of stderr that is not empty, quoted and bounded; `""` in quotes where there is none."""
        lines = [line for line in self.stderr.split("\n") if line.strip()]
        return quoted(lines[-1].strip() if lines else "")

    def write(self, data: bytes) -> None:
        """Write to stdin; lost where the child has ended."""
        pipe = self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(data)

    def close_input(self) -> None:
        """Close stdin, which asks a child that listens there to end."""
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    async def wait(self) -> int:
        """The exit code, once it has ended. Unbounded: call it inside `asyncio.timeout`."""
        await self._watch.exited.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._watch.drained.wait()
        code = self.returncode
        assert code is not None, "the loop reports an exit only with its code"
        return code

    async def find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first match of `pattern` in stderr; None if the child ended without one.

        Let the pattern reach to the line's end, else it may match a line that is still being written. Unbounded: call
        it inside `asyncio.timeout`.
        """
        while True:
            self._watch.news.clear()
            found = pattern.search(self.stderr)
            if found is not None:
                return found
            if self._watch.exited.is_set():
                await self.wait()
                return pattern.search(self.stderr)
            await self._watch.news.wait()

    def _close(self) -> None:
        self._transport.close()


@asynccontextmanager
async def private_folder() -> AsyncIterator[Path]:
    """A new folder `axtrial-<pid>-...` in the system's temp folder, mode 0700, with this process's owner record.

    Removed at the end, with patience for programs that still write into it. What cannot be removed is reported as a
    ResourceWarning and left to the next sweep.

    Raises:
        SetupError: the system's temp folder is full or cannot be written.
    """
    folder = new_folder()
    try:
        yield folder
    finally:
        await finish(asyncio.to_thread(drop_folder, folder, FOLDER_S))


@asynccontextmanager
async def owned_process(command: Command, folder: Path) -> AsyncIterator[OwnedProcess]:
    """Run `command` in `folder`, in its own session; at the end nothing of its group lives.

    Ends it in steps, each bounded: stdin closed (if `close_s`), SIGTERM to the group, SIGKILL to the group.

    Raises:
        ProcessNotStarted: the program is missing, not executable, or the system has no room for it.
    """
    # Started in a task of its own: a cancellation in the middle must not lose a child that already runs.
    starting = asyncio.ensure_future(_start(command, folder))
    try:
        yield await asyncio.shield(starting)
    finally:
        await finish(_end(command, folder, starting))


async def _start(command: Command, folder: Path) -> OwnedProcess:
    loop = asyncio.get_running_loop()
    _refuse_missing(command)
    # The kernel ties a child to the thread that started it, which is the loop's: a loop's end ends its children too.
    argv, environment = command.argv, command.environment
    if command.tied:
        argv, environment = tied(argv, environment, whole_environment())
    try:
        transport, watch = await loop.subprocess_exec(
            _Watch,
            *argv,
            stdin=asyncio.subprocess.PIPE if command.close_s else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if command.keep_output else asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
            pass_fds=command.kept,
        )
    except OSError as error:
        raise ProcessNotStarted(f"{quoted(command.argv[0])} could not be started: {error.strerror}") from error
    try:
        record_child(folder, transport.get_pid())
    except OSError as error:
        kill_group(transport.get_pid(), HARD)
        transport.close()
        raise ProcessNotStarted(f"the record in {quoted(str(folder))} cannot be written: {error.strerror}") from error
    return OwnedProcess(transport, watch)


def _refuse_missing(command: Command) -> None:
    """Said before the start: afterwards only an exit code would tell."""
    program = command.argv[0]
    if shutil.which(program, path=command.environment.get("PATH", os.defpath)) is None:
        reason = os.strerror(errno.EACCES if Path(program).exists() else errno.ENOENT)
        raise ProcessNotStarted(f"{quoted(program)} could not be started: {reason}")


async def _end(command: Command, folder: Path, starting: asyncio.Future[OwnedProcess]) -> None:
    try:
        process = await starting
    except ProcessNotStarted:
        return  # `owned_process` has raised it, or the owner was cancelled and does not care
    process.close_input()
    if not await _ends_within(process, command.close_s):
        kill_group(process.pid, signal.SIGTERM)
        if not await _ends_within(process, command.term_s):
            kill_group(process.pid, HARD)
            await _ends_within(process, GONE_S)
    process._close()
    await asyncio.to_thread(end_users, folder, process.pid, GONE_S)


async def _ends_within(process: OwnedProcess, seconds: float) -> bool:
    if process.returncode is None and seconds > 0:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await process.wait()
    return process.returncode is not None
