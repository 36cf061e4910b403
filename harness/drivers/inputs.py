"""Input that is under way: bounded, and left behind where it opened a dialog, as Chrome holds it until the answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from harness.drivers.cdp import CdpClosed
from harness.drivers.dialogs import OpenDialogs
from observe.errors import TimedOut

INPUT_TIMEOUT_S = 15.0

LATE = "The page took no input in time; it may already have been carried out."


class Inputs:
    """The inputs of one tab that have not ended yet. `lost` is set once the tab is gone."""

    def __init__(self, dialogs: OpenDialogs, lost: asyncio.Event) -> None:
        self._dialogs = dialogs
        self._lost = lost
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """Run `work` beside the caller; `stop` ends it at the latest."""

        async def run() -> Any:
            return await work

        task = asyncio.create_task(run())
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # an input behind a dialog ends with the tab; nobody else waits for it

    async def send(self, send: Callable[[], Awaitable[Any]], bound_s: float = INPUT_TIMEOUT_S) -> Any:
        """Send input; return its result once it was taken, or None once a dialog is open, which holds the rest of it.

        Raises:
            DialogOpen: a dialog was open before; nothing was sent.
            CdpClosed: the tab is gone.
            TimedOut: none of these came within `bound_s` seconds.
            Whatever the input itself raises.
        """
        self._dialogs.refuse()
        task = self.start(send())
        try:
            await self._first(task, bound_s)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if self._lost.is_set() and not _succeeded(task):
            task.cancel()
            raise CdpClosed("input")
        if task.done():
            return task.result()
        if self._dialogs.waiting is None:
            task.cancel()
            raise TimedOut(LATE, input_sent=True)
        return None

    async def drain(self) -> None:
        """Wait, within bounds, for the input that an answered dialog had held, or for the next dialog that it opens."""
        if self._running:
            await self._first(asyncio.gather(*self._running, return_exceptions=True), INPUT_TIMEOUT_S)

    async def _first(self, work: asyncio.Future[Any], bound_s: float) -> None:
        """Return when `work` has ended, a dialog is open, the tab is gone, or the time is over; nothing is ended."""
        events = [asyncio.create_task(event.wait()) for event in (self._dialogs.opened, self._lost)]
        try:
            await asyncio.wait({work, *events}, timeout=bound_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for event in events:
                event.cancel()

    async def stop(self) -> None:
        """End everything that still runs."""
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def _succeeded(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
