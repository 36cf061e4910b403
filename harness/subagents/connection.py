"""One child's connection, seen from its parent: it can be anything, and can do no more than its own child may.

Dropped and counted are frames with a wrong token, another's owner, a bad shape, a request id that was used before. Too
many wrong tokens, half a frame for too long, a peer that is not the child, or answers that nobody reads end it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import assert_never

from pydantic import ValidationError

from harness.errors import quoted
from harness.finish import finish
from harness.subagents.channel import Asker
from harness.subagents.frames import FrameDecoder, FrameError, FrameTooLarge, FrameUnwritable, Object, encode
from harness.subagents.messages import (
    FROM_CHILD,
    SOCKET_ID,
    Call,
    Cancel,
    ErrorKind,
    Failure,
    FromChild,
    Hello,
    Ownership,
    Refused,
    Reply,
    Report,
)
from harness.subagents.peer import PeerUnknown, is_own, peer_of
from harness.subagents.roll import Child, Roll

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

HELLO_S = 5.0
"""Seconds for the first frame."""

FRAME_S = 10.0
"""Seconds for the rest of a frame that has begun."""

SEND_S = 10.0
"""Seconds for a child to take what it is sent, before it counts as gone."""

MAX_WRONG_TOKENS = 3

MAX_IN_FLIGHT = 8
"""Calls of one child at a time; a further one is refused."""

MAX_IN_VAIN = 1_000
"""Frames of one connection that are refused or dropped; a child that sends more floods, and is cut off."""

MAX_IDS = 4_096
"""Request ids of one connection that are remembered, the latest."""

READ_BYTES = 64 * 1024

MAX_UNREAD_BYTES = 1024 * 1024
"""Of answers that a child has not taken; beyond it nothing more is read from the child until it takes some."""


class ConnectionOver(Exception):
    """The host ends the connection; the text is the name under which it is counted."""


class ChildConnection:
    """One accepted connection. `child` is whose it is, None until it has greeted; `counts` are those of its host."""

    def __init__(self, streams: Streams, roll: Roll, asker: Asker, counts: Counter[str]) -> None:
        self._reader, self._writer = streams
        self._writer.transport.set_write_buffer_limits(high=MAX_UNREAD_BYTES)
        self._roll = roll
        self._asker = asker
        self._counts = counts
        self.child: Child | None = None
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._ids: dict[str, None] = {}  # those that were used, the oldest first
        self._own: Counter[str] = Counter()  # frames in vain, by reason

    async def serve(self) -> None:
        """Serve it to its end, and cancel what it still runs. Closing is the caller's, who reaps the owner's page and
        then sets the child's `offline`: a connection that comes before waits for that, or would lose its own page.
        """
        try:
            async with aclosing(self._messages()) as messages:
                async for message in messages:
                    if (known := self._known(message)) is None:
                        continue
                    frame, child = known
                    if self.child is None:
                        await self._greet(frame, child)
                    else:
                        self._carry_out(frame, child)
        except ConnectionOver as over:
            self._counts[str(over)] += 1
        except FrameError:
            self._counts["broken_frame"] += 1
        except TimeoutError:
            self._counts["too_slow"] += 1
        except OSError:
            self._counts["lost"] += 1
        finally:
            await finish(self._cancel_all())

    async def _cancel_all(self) -> None:
        if self.child is not None:
            self.child.leaving = True
        if calls := tuple(self._calls.values()):
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)

    # ---- reading ----

    async def _messages(self) -> AsyncGenerator[Object, None]:
        """What the child sends, until it closes its end.

        Raises:
            TimeoutError: a first frame, the rest of a frame, or the reading of answers takes too long.
            FrameError, OSError.
        """
        decoder, loop = FrameDecoder(), asyncio.get_running_loop()
        deadline: float | None = loop.time() + HELLO_S
        while True:
            async with asyncio.timeout_at(deadline):
                data = await self._reader.read(READ_BYTES)
            if not data:
                return
            whole = 0
            for message in decoder.feed(data):
                whole += 1
                yield message
            if self.child is not None and not decoder.begun:
                deadline = None
            elif self.child is not None and (whole or deadline is None):
                deadline = loop.time() + FRAME_S
            if self._writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
                async with asyncio.timeout(SEND_S):
                    await self._writer.drain()
            if len(data) == READ_BYTES:
                await asyncio.sleep(0)  # who sends without end must not keep the others waiting

    def _known(self, message: Object) -> tuple[FromChild, Child] | None:
        """A frame of the child to which the connection belongs, or may come to belong; None: it is dropped."""
        try:
            frame = FROM_CHILD.validate_python(message)
        except ValidationError as error:
            self._misshapen(message, error)
            return None
        child = self._roll.find(frame.owner) if self.child is None else self.child
        if child is None or not child.has(frame.token):
            self._in_vain("wrong_token")
        elif frame.owner != child.owner:
            self._in_vain("foreign_owner")
        else:
            return frame, child
        return None

    def _misshapen(self, message: Object, error: ValidationError) -> None:
        """A child that is known and named its request hears what is wrong; else nothing is answered."""
        child, token = self.child, message.get("token")
        if child is not None and isinstance(token, str) and child.has(token):
            where = ".".join(str(part) for part in error.errors(include_input=False, include_url=False)[0]["loc"])
            with suppress(ValidationError):  # no usable id
                request_id = SOCKET_ID.validate_python(message.get("requestId"), strict=True)
                self._fail(request_id, "bad_request", f"the frame is malformed: {quoted(where)}")
        self._in_vain("malformed")

    def _in_vain(self, reason: str) -> None:
        self._own[reason] += 1
        self._counts[reason] += 1
        if self._own["wrong_token"] >= MAX_WRONG_TOKENS:
            raise ConnectionOver("wrong_tokens")
        if self._own.total() > MAX_IN_VAIN:
            raise ConnectionOver("flood")

    async def _greet(self, frame: FromChild, child: Child) -> None:
        if not isinstance(frame, Hello):
            self._in_vain("no_hello")
            return
        async with asyncio.timeout(HELLO_S):
            await child.started.wait()
            if child.leaving:
                await child.offline.wait()
        try:
            own = is_own(peer_of(self._writer.get_extra_info("socket")), child.pid)
        except PeerUnknown:
            own = False
        if not own:
            raise ConnectionOver("foreign_peer")
        if child.ended.is_set():
            raise ConnectionOver("run_over")
        if not child.offline.is_set():
            self._send(Refused(message=f"{child.owner} is connected already"))
            raise ConnectionOver("second_connection")
        child.offline.clear()
        child.leaving = False
        self.child = child
        self._send(Ownership(owner=child.owner))

    # ---- calls ----

    def _carry_out(self, frame: FromChild, child: Child) -> None:
        match frame:
            case Hello():
                self._in_vain("second_hello")
            case Call():
                self._call(frame, child)
            case Cancel():
                if (call := self._calls.get(frame.request_id)) is not None and not call.cancelling():
                    call.cancel()
            case Report():
                child.end(frame.payload)
            case _:
                assert_never(frame)

    def _call(self, call: Call, child: Child) -> None:
        if call.request_id in self._ids:
            self._in_vain("replayed")
            return
        self._ids[call.request_id] = None
        if len(self._ids) > MAX_IDS:
            del self._ids[next(iter(self._ids))]
        if child.ended.is_set():  # its owner may be another run's by now
            self._fail(call.request_id, "refused", f"{call.payload.tool} refused: the run of {child.owner} has ended")
            self._in_vain("run_over")
            return
        if len(self._calls) >= MAX_IN_FLIGHT:
            self._fail(call.request_id, "refused", f"{MAX_IN_FLIGHT} calls are under way; wait for one of them")
            self._in_vain("too_many")
            return
        task = asyncio.create_task(self._answer(call, child))
        self._calls[call.request_id] = task
        task.add_done_callback(lambda _: self._calls.pop(call.request_id, None))

    async def _answer(self, call: Call, child: Child) -> None:
        try:
            with child.at_work():
                result = await self._asker.ask(child.owner, call.payload.tool, call.payload.params)
        except asyncio.CancelledError:
            self._fail(call.request_id, "aborted", f"{call.payload.tool} aborted")
            return
        reply = Reply(
            request_id=call.request_id, owner=child.owner, ok=result.ok, result=result.result, error=result.error
        )
        try:
            self._send(reply)
        except FrameTooLarge as error:
            self._fail(call.request_id, "too_large", f"the answer of {call.payload.tool} is too large: {error.message}")
        except FrameUnwritable as error:
            self._fail(call.request_id, "failed", f"{call.payload.tool} failed: {error.message}")

    def _fail(self, request_id: str, kind: ErrorKind, message: str) -> None:
        assert self.child is not None, "only a greeted child is answered"
        error = Failure(kind=kind, message=message)
        self._send(Reply(request_id=request_id, owner=self.child.owner, ok=False, error=error))

    # ---- writing ----

    def _send(self, message: Ownership | Refused | Reply) -> None:
        """
        Raises:
            FrameTooLarge, FrameUnwritable: nothing was sent.
        """
        if not self._writer.is_closing():
            self._writer.write(encode(message.wire()))
