"""Input that is under way: bounded, and left behind where it opened a dialog, as Chrome holds it until the answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from harness.drivers.dialogs import OpenDialogs
from observe.errors import TimedOut

INPUT_TIMEOUT_S = 15.0

LATE = "The page took no input in time; it may already have been carried out."


class Inputs:
    """The inputs of one tab that have not ended yet."""

    def __init__(self, dialogs: OpenDialogs) -> None:
        self._dialogs = dialogs
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
            TimedOut: neither came within `bound_s` seconds.
            Whatever the input itself raises.
        """
        self._dialogs.refuse()
        task = self.start(send())
        opened = asyncio.create_task(self._dialogs.opened.wait())
        try:
            await asyncio.wait({task, opened}, timeout=bound_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            opened.cancel()
        if task.done():
            return task.result()
        if self._dialogs.waiting is None:
            task.cancel()
            raise TimedOut(LATE, input_sent=True)
        return None

    async def drain(self) -> None:
        """Wait, within bounds, for the input that an answered dialog had held, or for the next dialog that it opens."""
        if not self._running:
            return
        opened = asyncio.create_task(self._dialogs.opened.wait())
        ended = asyncio.create_task(asyncio.wait(tuple(self._running)))
        try:
            await asyncio.wait({ended, opened}, timeout=INPUT_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
            ended.cancel()

    async def stop(self) -> None:
        """End everything that still runs."""
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
