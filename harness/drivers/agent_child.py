"""The start of a native child of the driver `agent-browser`, and the proofs without which there is none.

The binary itself is run, without arguments, CLI, shared daemon or shell, in a fresh private folder and with an
environment built from scratch. Any deviation in its start ends it.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from harness.drivers.agent_calls import NativeChild, NativeFault
from harness.drivers.agent_queue import Queue
from harness.drivers.native_pin import NativeBinary
from harness.errors import DriverError, ProcessNotStarted, quoted
from harness.process import Command, OwnedProcess, owned_process, private_folder
from harness.targets.base import Endpoint
from observe.errors import DriverGone, TimedOut

SESSION = "s"
"""Names the child's files; short, as a socket's path is bounded."""

MAX_SOCKET_PATH = 103
MAX_VERSION_BYTES = 100
_POLL_S = 0.003


@asynccontextmanager
async def native_child(
    binary: NativeBinary, endpoint: Endpoint, target_id: str, queue: Queue
) -> AsyncIterator[NativeChild]:
    """A child attached to `endpoint` and pinned to the tab `target_id`; ended at the end, its folder removed.

    Raises:
        DriverError: any deviation in its start: version, stream, attachment or pin.
        HeldUp: it waited in vain for a tab that does not answer.
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
        queue.children.append(process)
        stack.callback(queue.children.remove, process)
        try:
            async with asyncio.timeout(queue.bounds.start_s):
                reader, writer = await _connect(socket, process, queue.bounds.reply_bytes)
                stack.callback(writer.close)
            child = NativeChild(reader, writer, queue)
            await _prove(child, folder, binary, endpoint, target_id)
        except (TimeoutError, TimedOut) as error:
            raise DriverError(f"the native driver was not ready within {queue.bounds.start_s:g} s") from error
        except NativeFault as fault:
            raise DriverError(f"the native driver refused the step {fault.action} of its start") from fault
        except DriverGone as gone:
            raise DriverError(f"the native driver did not start: {gone.message}") from gone
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


async def _connect(
    socket: Path, process: OwnedProcess, reply_bytes: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    while True:
        try:
            return await asyncio.open_unix_connection(str(socket), limit=reply_bytes)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            if process.returncode is not None:
                raise DriverError(
                    f"the native driver ended at its start with exit code {process.returncode}"
                ) from error
            await asyncio.sleep(_POLL_S)  # nothing tells of a socket's birth; the start is bounded


async def _prove(child: NativeChild, folder: Path, binary: NativeBinary, endpoint: Endpoint, target_id: str) -> None:
    """Version, stream off, attached to this very browser, pinned to this very tab, stream still off."""
    running = _running_version(folder)
    if running != binary.version:
        raise DriverError(f"the running native driver is version {quoted(running, 40)}, not {binary.version}")

    async def step(action: str, **fields: object) -> dict[str, Any]:
        return await child.call(action, guard=_free, timeout_s=child.bounds.start_s, **fields)

    await step("stream_disable")
    _stream_is_off(await step("stream_status"), folder)
    await step("launch", cdpUrl=endpoint.browser_ws, pinTab=True)
    tabs = (await step("tab_list")).get("tabs")
    known = [tab for tab in tabs if isinstance(tab, dict)] if isinstance(tabs, list) else []
    if [tab.get("targetId") for tab in known if tab.get("active")] != [target_id]:
        raise DriverError("the native driver is not pinned to the tab that it was given")
    if (folder / f"{SESSION}.engine").exists():
        raise DriverError("the native driver launched a browser of its own")
    _stream_is_off(await step("stream_status"), folder)


def _running_version(folder: Path) -> str:
    try:
        with (folder / f"{SESSION}.version").open("rb") as file:
            return file.read(MAX_VERSION_BYTES).decode("utf-8", errors="replace").strip()
    except OSError as error:
        raise DriverError(f"the running native driver does not tell its version: {error.strerror}") from error


def _free() -> None:
    """Nobody's authority is asked while the driver itself starts."""


def _stream_is_off(status: dict[str, Any], folder: Path) -> None:
    if status.get("enabled") is not False or status.get("port") is not None or (folder / f"{SESSION}.stream").exists():
        raise DriverError("the native driver's live stream cannot be switched off")
