"""Commands to a native child of the driver `agent-browser`: one queue for all of a profile's, each within a bound.

What a child says is never an authority, and its error texts, which can hold page text, stay in `diagnostics`. One that
does not answer as agreed ends the whole driver: its children and Chrome. Nothing is ever sent a second time.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from harness.drivers.agent_queue import Queue
from harness.drivers.cdp import decode
from observe.errors import DriverGone, TimedOut

SNAPSHOT = "snapshot"
"""The one command that the child sends to every frame; it waits without end for a frame that does not answer."""

ENDED = "The browser driver ended."

Guard = Callable[[], None]
"""Raises the refusal by which authority, control or cancellation stops a command."""


_BLOCKED = re.compile(r"A JavaScript (alert|confirm|prompt|beforeunload) dialog is blocking the page")


class NativeFault(Exception):
    """The child answered a command with an error. `code` is its own word, `text` can hold page text."""

    def __init__(self, action: str, code: str | None, text: str) -> None:
        super().__init__(action)
        self.action = action
        self.code = code
        self.text = text

    @property
    def blocked(self) -> bool:
        """Whether the child says that a dialog kept it from sending anything; it counts where we know of one too."""
        return self.code is None and _BLOCKED.match(self.text) is not None


class HeldUp(Exception):
    """The child waited in vain for a tab or a frame that does not answer; it is of no more use, everything else is."""

    def __init__(self) -> None:
        super().__init__("a tab or a frame of the browser does not answer")


@dataclass(slots=True, kw_only=True)
class _Turn:
    """A command that has its turn. `queued`: it still has it; it is given up while a page holds the command up."""

    deadline: asyncio.Timeout
    timeout_s: float
    queued: bool = True


async def _none_hangs() -> bool:
    return False


class NativeChild:
    """A child that is attached and pinned to one tab. `lost` tells whether that is gone: then its child ends alone.
    `frame_hangs` asks the tab's frames whether one does not answer.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, queue: Queue) -> None:
        self._reader = reader
        self._writer = writer
        self._queue = queue
        self._last_id = 0
        self._own = asyncio.Lock()
        self._turn: _Turn | None = None
        self._held_up = False
        self.lost: Callable[[], bool] = lambda: False
        self.frame_hangs: Callable[[], Awaitable[bool]] = _none_hangs
        self.bounds = queue.bounds

    async def call(
        self, action: str, *, guard: Guard, timeout_s: float | None = None, **fields: object
    ) -> dict[str, Any]:
        """Wait for the profile's queue, then carry out one command; `guard` is asked before it and after it.

        `timeout_s` counts from the command's turn; None: the bound of a command.

        Raises:
            NativeFault: the child refused the command.
            DriverGone: the child or Chrome ended, or the child gave no answer of the agreed form; both were ended.
            HeldUp: no reply, as a tab or a frame does not answer; input may have been sent.
            TimedOut: no reply within `timeout_s` seconds; child and Chrome were ended, input may have been sent.
            Whatever `guard` raises: then nothing was sent, or what came back is withheld.
        """
        async with self._own, self._queued(timeout_s or self.bounds.command_s) as turn:
            guard()
            if self._held_up:
                raise HeldUp
            if self._queue.dead or self._queue.browser.closed.is_set():
                await self._queue.abort()
                raise DriverGone(ENDED)
            start = time.perf_counter()
            try:
                data = await self._bounded(action, turn, fields)
            except NativeFault as fault:
                self._queue.note(action, f"{fault.code}: {fault.text}", start)
                guard()
                raise
            except (TimedOut, HeldUp):
                self._queue.note(action, "no reply in time", start)
                raise
            except DriverGone as gone:
                self._queue.note(action, gone.message, start)
                raise
            except asyncio.CancelledError:
                self._queue.note(action, "cancelled", start)
                if not self.lost():
                    await self._queue.abort()
                raise
            self._queue.note(action, "ok", start)
            guard()
            return data

    async def abort(self) -> None:
        """End the whole driver, as `Queue.abort`."""
        await self._queue.abort()

    @property
    def ending(self) -> bool:
        """Whether the whole driver is being ended, or has been."""
        return self._queue.dead

    def hold(self) -> None:
        """A dialog opened: the command under way ends only after its answer or with its tab; others need not wait."""
        if (turn := self._turn) is not None and turn.queued and not turn.deadline.expired():
            turn.deadline.reschedule(None)
            self._give_way(turn)

    def _give_way(self, turn: _Turn) -> None:
        turn.queued = False
        self._queue.lock.release()

    async def resume(self) -> None:
        """The dialog is about to be answered: wait for the held command's next turn, in which it goes on."""
        if (turn := self._turn) is None or turn.queued:
            return
        await self._queue.lock.acquire()
        if self._turn is not turn or turn.deadline.expired():  # it has ended meanwhile
            self._queue.lock.release()
            return
        turn.queued = True
        turn.deadline.reschedule(asyncio.get_running_loop().time() + turn.timeout_s)

    @asynccontextmanager
    async def _queued(self, timeout_s: float) -> AsyncIterator[_Turn]:
        await self._queue.lock.acquire()
        turn = _Turn(deadline=asyncio.timeout(timeout_s), timeout_s=timeout_s)
        try:
            yield turn
        finally:
            if turn.queued:
                self._queue.lock.release()

    async def _bounded(self, action: str, turn: _Turn, fields: dict[str, object]) -> dict[str, Any]:
        try:
            number, line = await self._answer(action, turn, fields)
        except TimeoutError as error:
            await self._queue.abort()
            message = f"The browser driver did not answer within {turn.timeout_s:g} s; the browser was ended."
            raise TimedOut(f"{message} Input may already have been sent.", input_sent=True) from error
        except (OSError, EOFError) as error:
            await self._fail(ENDED, error)
        except asyncio.LimitOverrunError as error:
            await self._fail("The browser driver's answer was too long; the browser was ended.", error)
        try:
            return _decoded(action, number, line)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            # Replies come in order: after one of an unknown form none can be trusted to be the wanted one.
            await self._fail("The browser driver gave an answer of an unknown form; the browser was ended.", error)

    async def _answer(self, action: str, turn: _Turn, fields: dict[str, object]) -> tuple[str, bytes]:
        """
        Raises:
            HeldUp: no reply within the command's bound and `held_s`, and a page does not answer; or no snapshot yet,
                and a frame of its tab does not answer.
            TimeoutError: no reply within the command's bound, though all pages answer.
            OSError, EOFError: the child has ended.
            asyncio.LimitOverrunError: the reply is too long.
        """
        reply = asyncio.create_task(self._exchange(action, fields))
        self._turn = turn
        try:
            try:
                async with turn.deadline:
                    if action == SNAPSHOT:
                        await self._watch_frames(reply, turn)
                    return await asyncio.shield(reply)
            except TimeoutError:
                if not (self.lost() or await self._queue.others.silent()):
                    raise
            if turn.queued:
                self._give_way(turn)
            with suppress(TimeoutError):
                async with asyncio.timeout(self.bounds.held_s):
                    return await asyncio.shield(reply)
            self._held_up = True
            raise HeldUp
        finally:
            self._turn = None
            reply.cancel()

    async def _watch_frames(self, reply: "asyncio.Task[tuple[str, bytes]]", turn: _Turn) -> None:
        """Return once the reply is there.

        Raises:
            HeldUp: it is not, no dialog holds it up, and a frame of the tab does not answer.
        """
        while not (await asyncio.wait({reply}, timeout=self.bounds.patience_s))[0]:
            asked = asyncio.ensure_future(self.frame_hangs())
            try:
                await asyncio.wait({reply, asked}, return_when=asyncio.FIRST_COMPLETED)
                if turn.queued and not reply.done() and asked.result():
                    self._held_up = True
                    raise HeldUp
            finally:
                asked.cancel()

    async def _exchange(self, action: str, fields: dict[str, object]) -> tuple[str, bytes]:
        self._last_id += 1
        number = str(self._last_id)
        self._writer.write(orjson.dumps({"id": number, "action": action, **fields}) + b"\n")
        await self._writer.drain()
        return number, await self._reader.readuntil(b"\n")

    async def _fail(self, message: str, cause: Exception) -> NoReturn:
        if not self.lost():
            await self._queue.abort()
        raise DriverGone(message, input_sent=True) from cause


def _decoded(action: str, number: str, line: bytes) -> dict[str, Any]:
    """The data of a reply.

    Raises:
        NativeFault: it is an error.
        ValueError, KeyError, TypeError, AttributeError, RecursionError: it is not of the agreed form.
    """
    reply = decode(line)
    data = reply.get("data")
    if reply["id"] != number or not isinstance(reply["success"], bool):
        raise ValueError(number)
    if not reply["success"]:
        raise NativeFault(action, reply.get("code"), str(reply.get("error", "")))
    return data if isinstance(data, dict) else {}
