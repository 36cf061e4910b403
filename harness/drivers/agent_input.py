"""Input and loads through a native child: what a dialog holds up is sent once it is closed, and a load that no server
answers is stopped, for which the child would wait until it is killed.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from harness.drivers.agent_calls import SNAPSHOT, Guard, NativeChild, NativeFault
from harness.drivers.agent_keys import key_events
from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout
from harness.drivers.dialogs import OpenDialogs
from harness.drivers.inputs import LATE
from harness.drivers.press import NOT_PRESSED, Guarding
from harness.drivers.settle import LOAD_TIMEOUT_S, SLOW, Settler
from observe.errors import DialogOpen, TimedOut

_TRIES = 10
"""A page can open dialogs without end; after so many that came between, a command is given up."""

HELD_UP = "The page opened one alert after the other; nothing was sent."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    action: str
    fields: Mapping[str, object]
    timeout_s: float | None = None
    guard: Guard


class NativeInput:
    """What one tab's child is told to do. `guard` is asked around each command."""

    def __init__(self, child: NativeChild, cdp: CdpConnection, dialogs: OpenDialogs) -> None:
        self.guard: Guard = lambda: None
        self._child = child
        self._cdp = cdp
        self._dialogs = dialogs
        self._known = 0  # the dialogs that had been shown before the last command that the child carried out

    async def send(self, action: str, *, timeout_s: float | None = None, **fields: object) -> dict[str, Any]:
        """Carry out one command; one that only an alert held up is carried out once that is accepted.

        Raises:
            DialogOpen: one that waits for its answer held the command up; nothing of it was sent.
            TimedOut: the page opened one alert after the other.
            As NativeChild.call.
        """
        return await self._send(_Command(action=action, fields=fields, timeout_s=timeout_s, guard=self.guard))

    async def _send(self, command: _Command) -> dict[str, Any]:
        for _ in range(_TRIES):
            if (data := await self._attempt(command)) is not None:
                return data
            self._dialogs.refuse()
        raise TimedOut(HELD_UP)

    async def click(self, point: tuple[float, float], guarding: Guarding) -> None:
        """Move the mouse to a point, in px from the window's corner; press and release it in what `guarding` makes.

        What a dialog holds up in between comes after its answer, as Chrome itself holds input: a press has its release.

        Raises:
            TimedOut: the page opened one dialog after the other.
            As NativeChild.call, and as `guarding`.
        """
        x, y = point
        await self._go_on("mousemove", NOT_PRESSED, x=x, y=y)
        async with guarding():
            await self._go_on("mousedown", LATE)
            await self._go_on("mouseup", LATE)

    async def _go_on(self, action: str, late: str, **fields: object) -> None:
        command = _Command(action=action, fields=fields, guard=self.guard)
        for _ in range(_TRIES):
            if await self._attempt(command) is not None:
                return
            await self._dialogs.closed.wait()
        raise TimedOut(late, input_sent=True)

    async def press(self, key: str) -> None:
        """Press and release one key, by its name or as the character that it types.

        Raises:
            As `send`.
        """
        if len(key) == 1 and not key.isascii():  # no key of a US keyboard
            await self.send("inserttext", text=key)
        elif (events := key_events(key)) is None:
            await self.send("press", key=key)
        else:
            for event in events:
                self.guard()
                with suppress(DialogOpen):  # the page gets it once that is closed
                    await self._cdp.send("Input.dispatchKeyEvent", event)
                await self._dialogs.closed.wait()
            self.guard()

    async def _attempt(self, command: _Command) -> dict[str, Any] | None:
        """What the child answered; None: it knew of a dialog, and refuses each command then before it sends anything.

        On return an alert that held it up is closed.
        """
        before = self._dialogs.shown
        try:
            data = await self._child.call(
                command.action, guard=command.guard, timeout_s=command.timeout_s, **command.fields
            )
        except NativeFault as fault:
            if not (fault.blocked or (command.action == SNAPSHOT and fault.code is None)):
                raise
            if self._dialogs.waiting is None:
                with suppress(DialogOpen):
                    await self._cdp.send("Page.getFrameTree")  # the page answers this behind its alert and its events
            if self._dialogs.shown == self._known:
                raise
            return None
        self._known = before
        return data

    async def load(self, url: str, settler: Settler) -> None:
        """Load an address, to the end of its load or to the dialog that it opens.

        Raises:
            NativeFault: Chrome could not load it.
            TimedOut: it has not loaded within LOAD_TIMEOUT_S; without any answer from its server, it was stopped.
            As NativeChild.call.
        """
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[float] = loop.create_future()

        def guard() -> None:
            self.guard()
            if not turn.done():
                turn.set_result(loop.time())

        stopped = asyncio.Event()
        stopping = asyncio.create_task(self._stop_late(turn, stopped, settler))
        try:
            # With this word the child returns at the server's answer, and does not wait for the rest.
            request = {"url": url, "waitUntil": "none"}
            bound_s = LOAD_TIMEOUT_S + self._child.bounds.command_s
            await self._send(_Command(action="navigate", fields=request, timeout_s=bound_s, guard=guard))
        except NativeFault as fault:
            if stopped.is_set():
                raise TimedOut(SLOW, input_sent=True) from fault
            await settler.loaded()  # Chrome's own error page still comes
            raise
        finally:
            stopping.cancel()
        with suppress(DialogOpen):  # it is open in the page that was loaded
            await settler.loaded(max(turn.result() + LOAD_TIMEOUT_S - loop.time(), 0))

    async def _stop_late(self, turn: asyncio.Future[float], stopped: asyncio.Event, settler: Settler) -> None:
        """End the load for which the child waits too long; one that a dialog holds begins anew with its answer."""
        await turn
        await asyncio.sleep(LOAD_TIMEOUT_S)
        while self._dialogs.waiting is not None:
            await self._dialogs.closed.wait()
            await asyncio.sleep(LOAD_TIMEOUT_S)
        stopped.set()
        with suppress(CdpClosed, CdpError, CdpTimeout):  # then the child ends by its bound
            await settler.stop()
