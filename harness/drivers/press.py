"""The press of a click on an element: checked once more when the mouse is there, and again as the page dispatches it.

A page answers the mouse that comes over an element, and renders again at any time: between the first check and the
press there can be another element under the point. So the page script judges the press itself, before any listener of
the page that was added after it, and keeps from the page one that would meet another element.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from harness.drivers.base import RefTarget
from harness.drivers.cdp import CdpClosed, CdpTimeout
from harness.drivers.dialogs import OpenDialogs
from harness.drivers.page_script import PageScript
from harness.drivers.script_answer import check
from observe.errors import DialogOpen, DocumentReplaced, MalformedRead, Refusal, TimedOut

Guarding = Callable[[], AbstractAsyncContextManager[None]]
"""Goes around the press and the release of a click, with the mouse already over the point."""

ONLY_MOVED = " Only the mouse was moved there; nothing was pressed."
WITHHELD = " The mouse was moved there, and its press was kept from the page."
NOT_PRESSED = "The page took no input in time; only the mouse was moved, and nothing was pressed."

_TRIES = 10
"""A page can open dialogs without end; after so many that came between, a press is given up."""

DISARM_S = 1.0


class Press:
    """One press on one element. `refusal`: why it did not meet it."""

    def __init__(self, script: PageScript, dialogs: OpenDialogs, target: RefTarget, point: tuple[float, float]) -> None:
        self._script = script
        self._dialogs = dialogs
        self._target = target
        self._point = point
        self.refusal: Refusal | None = None

    @asynccontextmanager
    async def guarded(self) -> AsyncIterator[None]:
        """Around press and release.

        Raises:
            MissingNode, ChangedElement, NotClickable, Covered, DocumentReplaced: it is no longer what was checked, and
                the page got no press.
            TimedOut: the page opened one dialog after the other.
        """
        try:
            self._judge(await self._asked("arm", self._target.stamp.nonce, self._target.n, *self._point), ONLY_MOVED)
        except DocumentReplaced as replaced:
            raise self._refused(replaced, ONLY_MOVED) from replaced
        try:
            yield
        except BaseException:
            await self._disarm()
            raise
        with suppress(CdpClosed, DocumentReplaced, TimedOut):  # then the press has met its element, and done that
            self._judge(await self._asked("met"), WITHHELD)

    async def _asked(self, name: str, *arguments: Any) -> Any:
        """What the page script says, once no dialog holds the page up."""
        for _ in range(_TRIES):
            await self._dialogs.closed.wait()
            with suppress(DialogOpen):
                return await self._script.call(name, *arguments)
        raise TimedOut(NOT_PRESSED, input_sent=True)

    async def _disarm(self) -> None:
        """Within a bound: after another one the page script does this by itself."""
        with suppress(CdpClosed, CdpTimeout, Refusal, MalformedRead, TimeoutError):
            async with asyncio.timeout(DISARM_S):
                await self._script.call("disarm")

    def _judge(self, answer: Any, so_far: str) -> None:
        try:
            check(answer)
        except Refusal as refusal:
            raise self._refused(refusal, so_far) from refusal

    def _refused(self, refusal: Refusal, so_far: str) -> Refusal:
        self.refusal = type(refusal)(refusal.message + so_far, input_sent=True)
        return self.refusal
