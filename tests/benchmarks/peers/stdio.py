"""Child programs that speak JSON lines over stdio, and the end of all that they started.

Every child carries a mark in its environment, which what it starts inherits, also in sessions of its own.
"""

import asyncio
import json
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from harness.config import child_environment, whole_environment
from harness.tied import tied

START_S = 90.0
"""Seconds for a peer to answer for the first time: it starts a browser, and Python libraries load from a slow disk."""

END_S = 10.0
"""Seconds for a peer to end by itself once its stdin is closed."""

MAX_LINE_BYTES = 1 << 28
"""Bytes of one answer: the longest page gives some megabytes."""

MARK = "AXTRIAL_PEERS_MARK"


class PeerFault(Exception):
    """A peer did not start, ended, or answered with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where a peer runs: a home and temp folder of its own, and the mark of all that it starts."""

    folder: Path
    mark: str

    def environment(self, added: Mapping[str, str]) -> dict[str, str]:
        """All that a child of this room gets."""
        return {**child_environment(self.folder, self.folder), MARK: self.mark, **added}


@asynccontextmanager
async def room(parent: Path, name: str) -> AsyncIterator[Room]:
    """A new room; at the end nothing that started in it lives, and its folder is gone."""
    folder = parent / f"r-{name[:6]}"  # short: a daemon's socket stands in it
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = Room(folder=folder, mark=secrets.token_hex(8))
    try:
        yield made
    finally:
        end_marked(made.mark)
        shutil.rmtree(folder, ignore_errors=True)


def end_marked(mark: str) -> None:
    """Kill every process that carries the mark, and wait for its end."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark:
                found.append(process)
    for process in found:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(found, timeout=END_S)


class LineChild:
    """A child that answers lines of JSON. Made by `line_child` only."""

    def __init__(self, process: asyncio.subprocess.Process, errors: Path) -> None:
        self._process = process
        self._errors = errors

    async def send(self, what: Mapping[str, Any]) -> None:
        """One line to the child."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        await self._process.stdin.drain()

    async def receive(self, within_s: float) -> dict[str, Any]:
        """The next line of the child.

        Raises: PeerFault where none comes in time, or it is no JSON object.
        """
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise PeerFault(f"no answer within {within_s:g} s") from error
        if not line:
            raise PeerFault(f"ended: {self.last_error()}")
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise PeerFault("answered with something else than JSON") from error
        if not isinstance(answer, dict):
            raise PeerFault("answered with something else than a JSON object")
        return answer

    def last_error(self) -> str:
        """The last line of stderr that says something."""
        lines = [line for line in self._errors.read_text(errors="replace").split("\n") if any(map(str.isalnum, line))]
        return lines[-1].strip()[:200] if lines else "nothing on stderr"


@asynccontextmanager
async def line_child(argv: list[str], where: Room, added: Mapping[str, str]) -> AsyncIterator[LineChild]:
    """The running child; its stdin is closed at the end, and what does not end then ends with its room.

    Raises: PeerFault where it cannot be started.
    """
    errors = where.folder / "stderr.txt"
    own = tied(tuple(argv), where.environment(added), whole_environment())
    with errors.open("wb") as sink:
        try:
            process = await asyncio.create_subprocess_exec(
                *own.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=sink,
                env=dict(own.environment),
                cwd=where.folder,
                start_new_session=True,
                limit=MAX_LINE_BYTES,
            )
        except OSError as error:
            raise PeerFault(f"could not be started: {error.strerror}") from error
    try:
        yield LineChild(process, errors)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


class McpClient:
    """A minimal client of the Model Context Protocol over stdio: starts a session, calls tools."""

    def __init__(self, child: LineChild) -> None:
        self._child = child
        self._count = 0

    async def begin(self) -> None:
        """The handshake.

        Raises: PeerFault.
        """
        client = {"name": "axtrial-peers", "version": "1"}
        await self._ask(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}, START_S
        )
        await self._child.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, arguments: Mapping[str, Any], within_s: float) -> str:
        """The text that a tool answers with.

        Raises: PeerFault, also where the tool answers with an error.
        """
        result = await self._ask("tools/call", {"name": tool, "arguments": arguments}, within_s)
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        if result.get("isError"):
            raise PeerFault(f"{tool}: {text[:200]}")
        return text

    async def _ask(self, method: str, params: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        self._count += 1
        await self._child.send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        while True:
            answer = await self._child.receive(within_s)
            if answer.get("id") == self._count and "method" not in answer:
                break
        if "result" not in answer:
            raise PeerFault(f"{method}: {json.dumps(answer.get('error'))[:200]}")
        result = answer["result"]
        assert isinstance(result, dict)
        return result
