"""The owned native child of the driver `agent-browser`: its start, its proofs, and one queue for its commands.

The binary itself is run, without arguments, CLI, shared daemon or shell, in a fresh private folder and with an
environment built from scratch. Any deviation in its start ends it. What it says is never an authority, and its error
texts, which can hold page text, stay in `diagnostics`.
"""

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, decode
from harness.drivers.native_pin import NativeBinary
from harness.errors import DriverError, ProcessNotStarted, quoted
from harness.leftovers import kill_group
from harness.process import Command, OwnedProcess, owned_process, private_folder
from harness.targets.base import Endpoint
from observe.errors import DriverGone, TimedOut

SESSION = "s"
"""Names the child's files; short, as a socket's path is bounded."""

MAX_SOCKET_PATH = 103
MAX_REPLY_BYTES = 64 * 1024 * 1024
"""A snapshot of 20,000 elements has 1.25 MB; beyond this bound the reply is a fault."""

START_TIMEOUT_S = 15.0
COMMAND_TIMEOUT_S = 15.0
SNAPSHOT_TIMEOUT_S = 30.0
"""Below the child's own 33 s, after which it calls a page wedged."""

CLOSE_BROWSER_S = 2.0
_POLL_S = 0.003
MAX_DIAGNOSTICS = 1_000
MAX_DIAGNOSTIC_CHARS = 500

Guard = Callable[[], None]
"""Raises the refusal by which authority, control or cancellation stops a command."""


class NativeFault(Exception):
    """The child answered a command with an error. `code` is its own word, `text` can hold page text."""

    def __init__(self, action: str, code: str | None, text: str) -> None:
        super().__init__(action)
        self.action = action
        self.code = code
        self.text = text


@dataclass(slots=True, kw_only=True)
class Queue:
    """One queue for all commands on one browser profile, and its end. `diagnostics` is for the trial's folder."""

    browser: CdpConnection
    chrome_pid: int
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    children: list[int] = field(default_factory=list)
    dead: bool = False
    diagnostics: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_DIAGNOSTICS))

    def note(self, action: str, outcome: str, start: float) -> None:
        """Keep how a command ended."""
        ms = (time.perf_counter() - start) * 1000
        self.diagnostics.append(f"{action} {ms:.1f} ms {quoted(outcome, MAX_DIAGNOSTIC_CHARS)}")

    async def abort(self) -> None:
        """End every child and Chrome. Issued input is not undone, and nothing is replayed."""
        self.dead = True
        for pid in self.children:
            kill_group(pid, signal.SIGTERM)
        with suppress(CdpClosed, CdpError, CdpTimeout):
            await self.browser.send("Browser.close", timeout_s=CLOSE_BROWSER_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_BROWSER_S):
                await self.browser.closed.wait()
        if not self.browser.closed.is_set():
            kill_group(self.chrome_pid, signal.SIGKILL)


class NativeChild:
    """A child that is attached and pinned to one tab."""

    def __init__(
        self, process: OwnedProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, queue: Queue
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._queue = queue
        self._last_id = 0

    async def call(
        self, action: str, *, guard: Guard, timeout_s: float = COMMAND_TIMEOUT_S, **fields: object
    ) -> dict[str, Any]:
        """Wait for the profile's queue, then carry out one command; `guard` is asked before it and after it.

        Raises:
            NativeFault: the child refused the command.
            DriverGone: the child or Chrome ended.
            TimedOut: no reply within `timeout_s` seconds; child and Chrome were ended, input may have been sent.
            Whatever `guard` raises: then nothing was sent, or what came back is withheld.
        """
        async with self._queue.lock:
            guard()
            if self._queue.dead:
                raise DriverGone("The browser driver ended.")
            start = time.perf_counter()
            try:
                async with asyncio.timeout(timeout_s):
                    data = await self._exchange(action, fields)
            except TimeoutError as error:
                self._queue.note(action, "no reply in time", start)
                await self._abort()
                message = f"The browser driver did not answer within {timeout_s:g} s; the browser was ended."
                raise TimedOut(f"{message} Input may already have been sent.", input_sent=True) from error
            except asyncio.CancelledError:
                self._queue.note(action, "cancelled", start)
                await self._abort()
                raise
            except NativeFault as fault:
                self._queue.note(action, f"{fault.code}: {fault.text}", start)
                raise
            self._queue.note(action, "ok", start)
            guard()
            return data

    async def _abort(self) -> None:
        await asyncio.shield(asyncio.ensure_future(self._queue.abort()))

    async def _exchange(self, action: str, fields: dict[str, object]) -> dict[str, Any]:
        self._last_id += 1
        number = str(self._last_id)
        try:
            self._writer.write(orjson.dumps({"id": number, "action": action, **fields}) + b"\n")
            await self._writer.drain()
            line = await self._reader.readuntil(b"\n")
        except (OSError, EOFError) as error:
            self._queue.dead = True
            raise DriverGone("The browser driver ended.", input_sent=True) from error
        except asyncio.LimitOverrunError as error:
            await self._abort()
            raise DriverGone("The browser driver's answer was too long; the browser was ended.") from error
        return await self._decoded(action, number, line)

    async def _decoded(self, action: str, number: str, line: bytes) -> dict[str, Any]:
        try:
            reply = decode(line)
            data = reply.get("data")
            if reply["id"] != number or not isinstance(reply["success"], bool):
                raise ValueError(number)
        except (ValueError, KeyError, AttributeError) as error:
            # Replies come in order: after one of an unknown form none can be trusted to be the wanted one.
            await self._abort()
            raise DriverGone("The browser driver gave an answer of an unknown form; the browser was ended.") from error
        if not reply["success"]:
            raise NativeFault(action, reply.get("code"), str(reply.get("error", "")))
        return data if isinstance(data, dict) else {}


@asynccontextmanager
async def native_child(
    binary: NativeBinary, endpoint: Endpoint, target_id: str, queue: Queue
) -> AsyncIterator[NativeChild]:
    """A child attached to `endpoint` and pinned to the tab `target_id`; ended at the end, its folder removed.

    Raises:
        DriverError: any deviation in its start: version, stream, attachment or pin.
    """
    async with AsyncExitStack() as stack:
        folder = await stack.enter_async_context(private_folder())
        socket = folder / f"{SESSION}.sock"
        if len(os.fsencode(socket)) > MAX_SOCKET_PATH:
            raise DriverError(
                f"the temp folder's path is too long for the native driver's socket: {quoted(str(folder))}"
            )
        _pin(folder, target_id)
        try:
            process = await stack.enter_async_context(owned_process(_command(binary, folder), folder))
        except ProcessNotStarted as error:
            raise DriverError(f"the native driver did not start: {error.message}") from error
        queue.children.append(process.pid)
        stack.callback(queue.children.remove, process.pid)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                reader, writer = await _connect(socket, process)
                stack.callback(writer.close)
                child = NativeChild(process, reader, writer, queue)
                await _prove(child, folder, binary, endpoint, target_id)
        except TimeoutError as error:
            raise DriverError(f"the native driver was not ready within {START_TIMEOUT_S:g} s") from error
        except (NativeFault, DriverGone, TimedOut) as error:
            raise DriverError("the native driver refused a step of its start") from error
        yield child


def _pin(folder: Path, target_id: str) -> None:
    """Names the tab before the start: the child then opens, focuses and closes none of its own."""
    seed = orjson.dumps({"targetId": target_id, "url": "", "pinned": True})
    descriptor = os.open(folder / f"{SESSION}.target", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(seed)


def _command(binary: NativeBinary, folder: Path) -> Command:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "AGENT_BROWSER_DAEMON": "1",
        "AGENT_BROWSER_SESSION": SESSION,
        "AGENT_BROWSER_SOCKET_DIR": str(folder),
        "AGENT_BROWSER_IDLE_TIMEOUT_MS": "0",
        "AGENT_BROWSER_AUTOSAVE_INTERVAL_MS": "0",
        "AGENT_BROWSER_NO_AUTO_DIALOG": "1",
        "AGENT_BROWSER_EXECUTABLE_PATH": str(folder / "no-browser-may-be-launched"),
    }
    return Command(argv=(str(binary.path),), environment=environment)


async def _connect(socket: Path, process: OwnedProcess) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    while True:
        try:
            return await asyncio.open_unix_connection(str(socket), limit=MAX_REPLY_BYTES)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            if process.returncode is not None:
                raise DriverError(
                    f"the native driver ended at its start with exit code {process.returncode}"
                ) from error
            await asyncio.sleep(_POLL_S)  # nothing tells of a socket's birth; bounded by START_TIMEOUT_S


async def _prove(child: NativeChild, folder: Path, binary: NativeBinary, endpoint: Endpoint, target_id: str) -> None:
    """Version, stream off, attached to this very browser, pinned to this very tab, stream still off."""
    running = (folder / f"{SESSION}.version").read_text(encoding="utf-8", errors="replace").strip()
    if running != binary.version:
        raise DriverError(f"the running native driver is version {quoted(running, 40)}, not {binary.version}")

    def free() -> None:
        """Nobody's authority is asked while the driver itself starts."""

    await child.call("stream_disable", guard=free)
    await _stream_is_off(child, folder, free)
    await child.call("launch", guard=free, cdpUrl=endpoint.browser_ws, pinTab=True)
    tabs = (await child.call("tab_list", guard=free)).get("tabs")
    active = [tab.get("targetId") for tab in tabs if tab.get("active")] if isinstance(tabs, list) else []
    if active != [target_id]:
        raise DriverError("the native driver is not pinned to the tab that it was given")
    if (folder / f"{SESSION}.engine").exists():
        raise DriverError("the native driver launched a browser of its own")
    await _stream_is_off(child, folder, free)


async def _stream_is_off(child: NativeChild, folder: Path, free: Guard) -> None:
    status = await child.call("stream_status", guard=free)
    if status.get("enabled") is not False or status.get("port") is not None or (folder / f"{SESSION}.stream").exists():
        raise DriverError("the native driver's live stream cannot be switched off")
