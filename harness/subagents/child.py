"""A child's end: its parent's browser over a Unix socket. Importable by any Python process, and a program:

    python -m harness.subagents.child LOADOUT

which serves the child's tools over stdio as an MCP server, for an agent that is written elsewhere. No browser, driver
or host is imported here. A call never raises for what page, parent or network do: it answers, with `ok` false.
"""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, assert_never

import orjson
from pydantic import JsonValue, ValidationError

from harness.errors import AxtrialError, UsageError, quoted
from harness.finish import finish
from harness.subagents.frames import FrameDecoder, FrameError, FrameTooLarge, FrameUnwritable, Object, encode
from harness.subagents.messages import (
    TO_CHILD,
    Call,
    Cancel,
    ErrorKind,
    Hello,
    Loadout,
    Ownership,
    Refused,
    Reply,
    Report,
    ToChild,
    Wanted,
)
from harness.subagents.waits import ABORT_S, child_s
from harness.tools.verify_params import TOOLS, bound_ms

CONNECT_S = 10.0
"""Seconds for the parent to accept a connection and to say who the child is."""

MAX_LOADOUT_BYTES = 64 * 1024
READ_BYTES = 64 * 1024


class NotConnected(AxtrialError):
    """The parent does not answer, or does not accept this child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call gave: a text for a model, the same as data, and why not, where it was not carried out."""

    ok: bool
    text: str
    details: Object = field(default_factory=dict)
    error: ErrorKind | None = None


def read_loadout(path: Path) -> Loadout:
    """
    Raises:
        UsageError: there is no such file, or it is no loadout; then there is no tool at all.
    """
    try:
        with path.open("rb") as file:
            return Loadout.model_validate(orjson.loads(file.read(MAX_LOADOUT_BYTES)))
    except (OSError, orjson.JSONDecodeError, ValidationError) as error:
        raise UsageError(f"{quoted(str(path))} is not the loadout of a child") from error


class ParentBrowser:
    """The parent's browser, for the page of this child alone. Made by `connect`. `gone`: the connection has ended."""

    def __init__(self, given: Loadout, writer: asyncio.StreamWriter) -> None:
        self.owner = given.owner
        self.tools = tuple(name for name in TOOLS if name in given.tools)
        self.gone = asyncio.Event()
        self._token = given.token
        self._writer = writer
        self._pending: dict[str, asyncio.Future[Answer]] = {}

    async def call(self, tool: str, params: Mapping[str, JsonValue], abort: asyncio.Event | None = None) -> Answer:
        """Use a tool. Cancelling it, or setting `abort`, gives the call up and returns once the parent has said so.

        Where `abort` is set already, nothing is sent.
        """
        if abort is not None and abort.is_set():
            return _not_done("aborted", f"{tool} aborted")
        if self.gone.is_set():
            return _not_done("disconnected", f"{tool} failed: the parent is gone")
        request_id = secrets.token_hex(16)
        try:
            wanted = Wanted(tool=tool, params=dict(params))
            frame = encode(Call(token=self._token, owner=self.owner, request_id=request_id, payload=wanted).wire())
        except ValidationError:
            said = f"there is no tool {quoted(tool)}, or its parameters are no object of JSON"
            return _not_done("bad_request", f"the call failed: {said}")
        except FrameUnwritable:
            return _not_done("bad_request", f"{tool} failed: the call cannot be written as JSON in UTF-8")
        except FrameTooLarge as error:
            return _not_done("too_large", f"{tool} failed: the call is too large: {error.message}")
        answer = self._pending[request_id] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(frame)
            return await self._answered(tool, request_id, child_s(bound_ms(tool, params)), abort)
        except asyncio.CancelledError:
            await finish(self._given_up(request_id, answer))
            raise
        finally:
            del self._pending[request_id]

    async def report(self, payload: Mapping[str, JsonValue]) -> None:
        """Hand the parent this child's result, which ends its run and its page.

        Raises:
            FrameTooLarge, FrameUnwritable: it cannot be sent.
            NotConnected: the parent is gone.
        """
        try:
            frame = encode(Report(token=self._token, owner=self.owner, payload=dict(payload)).wire())
        except ValidationError as error:
            raise FrameUnwritable("the report is not an object of JSON") from error
        try:
            self._writer.write(frame)
            await self._writer.drain()
        except OSError as error:
            raise NotConnected("the parent is gone") from error

    async def _answered(self, tool: str, request_id: str, bound_s: float, abort: asyncio.Event | None) -> Answer:
        answer = self._pending[request_id]
        aborted = None if abort is None else asyncio.create_task(abort.wait())
        try:
            waited: set[asyncio.Future[Any]] = {answer} if aborted is None else {answer, aborted}
            await asyncio.wait(waited, timeout=bound_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if aborted is not None:
                aborted.cancel()
        if answer.done():
            return answer.result()
        await self._given_up(request_id, answer)
        if aborted is not None and abort is not None and abort.is_set():
            return _not_done("aborted", f"{tool} aborted")
        return _not_done("no_answer", f"{tool} got no answer within {bound_s:g} seconds")

    async def _given_up(self, request_id: str, answer: "asyncio.Future[Answer]") -> None:
        """Tell the parent, and wait until it says that the call has ended, for ABORT_S at most."""
        self._writer.write(encode(Cancel(token=self._token, owner=self.owner, request_id=request_id).wire()))
        await asyncio.wait({answer}, timeout=ABORT_S)

    def _hello(self) -> None:
        self._writer.write(encode(Hello(token=self._token, owner=self.owner).wire()))

    # ---- what the parent sends ----

    async def _listen(self, reader: asyncio.StreamReader, known: "asyncio.Future[None]") -> None:
        decoder = FrameDecoder()
        try:
            while data := await reader.read(READ_BYTES):
                for message in decoder.feed(data):
                    self._take(TO_CHILD.validate_python(message), known)
        except (OSError, FrameError, ValidationError):
            pass  # the end of the connection, in one way or another
        finally:
            self.gone.set()
            if not known.done():
                known.set_exception(NotConnected("the parent closed the connection"))
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_result(_not_done("disconnected", "the parent is gone"))

    def _take(self, message: ToChild, known: "asyncio.Future[None]") -> None:
        match message:
            case Ownership():
                if not known.done():
                    known.set_result(None)
            case Refused():
                if not known.done():
                    known.set_exception(NotConnected(message.message))
            case Reply():
                answer = self._pending.get(message.request_id)
                if answer is not None and not answer.done() and message.owner == self.owner:
                    answer.set_result(_told(message))
            case _:
                assert_never(message)


def _told(reply: Reply) -> Answer:
    if reply.result is not None and reply.ok:
        return Answer(ok=True, text=reply.result.text, details=reply.result.details)
    if reply.error is not None:
        return _not_done(reply.error.kind, reply.error.message)
    return _not_done("failed", "the parent gave no reason")


def _not_done(kind: ErrorKind, text: str) -> Answer:
    return Answer(ok=False, text=text, error=kind)


@asynccontextmanager
async def connect(loadout: Path) -> AsyncIterator[ParentBrowser]:
    """The parent's browser, until the block ends; the page goes with the connection.

    Raises:
        UsageError: as `read_loadout`.
        NotConnected: the parent is gone, or has this child connected already.
    """
    given = read_loadout(loadout)
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_unix_connection(given.socket)
    except (OSError, TimeoutError) as error:
        raise NotConnected("the parent does not answer") from error
    browser = ParentBrowser(given, writer)
    known: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    listening = asyncio.create_task(browser._listen(reader, known))
    try:
        browser._hello()
        try:
            async with asyncio.timeout(CONNECT_S):
                await known
        except TimeoutError as error:
            raise NotConnected("the parent does not answer") from error
        yield browser
    finally:
        writer.close()
        listening.cancel()
        await finish(_ended(listening))


async def _ended(task: "asyncio.Task[None]") -> None:
    await asyncio.wait({task})


def _leave(why: AxtrialError) -> NoReturn:
    """End the process from within: a thread of the SDK waits for the agent's next line, and an orderly end for it."""
    sys.stderr.write(f"{why.message}\n")
    sys.stderr.flush()
    os._exit(why.exit_code)


def main(arguments: Sequence[str]) -> int:
    """Serve a child's tools over stdio until the agent or the parent ends; the exit code."""

    async def serve(loadout: Path) -> None:
        async with connect(loadout) as browser:
            from harness.subagents.stdio import serve_stdio  # the MCP SDK takes 0.6 s to import

            await serve_stdio(browser)
            if browser.gone.is_set():
                _leave(NotConnected("the parent is gone"))

    try:
        if len(arguments) != 1:
            raise UsageError("usage: python -m harness.subagents.child LOADOUT")
        asyncio.run(serve(Path(arguments[0])))
    except AxtrialError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
