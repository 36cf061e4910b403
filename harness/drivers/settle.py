"""After an action: wait for a started navigation to load, and for the DOM to be quiet. Events and bounds, no sleeps."""

import asyncio

from harness.drivers.cdp import CdpConnection, Json
from harness.drivers.dialogs import OpenDialogs
from harness.drivers.page_script import PageScript
from observe.errors import DocumentReplaced, TimedOut

QUIET_MS = 60
"""Without any DOM change for this long, the page has answered an action."""

MOST_MS = 1_500
"""A page that changes all the time is not waited for any longer."""

LOAD_TIMEOUT_S = 15.0
SLOW = "The page did not finish loading in time; observe before trying again."

_MOST_DOCUMENTS = 10
"""A chain of redirecting documents longer than this is left to the next observation."""

_STARTS = ("Page.frameRequestedNavigation", "Page.frameStartedNavigating", "Page.frameStartedLoading")
_ENDS = ("Page.frameStoppedLoading",)


class Settler:
    """Watches one tab's main frame. A dialog that waits for its answer ends each wait: the page does nothing more."""

    def __init__(self, cdp: CdpConnection, script: PageScript, dialogs: OpenDialogs, frame_id: str) -> None:
        self._cdp = cdp
        self._script = script
        self._dialogs = dialogs
        self._frame_id = frame_id
        self._idle = asyncio.Event()
        self._idle.set()
        self._loading = False  # Chrome clears a scheduled navigation when its load begins: then it is not over
        cdp.on("Page.frameClearedScheduledNavigation", self._on_cleared)
        cdp.on("Page.frameStartedLoading", self._on_loading)
        for name in _STARTS:
            cdp.on(name, self._on_start)
        for name in _ENDS:
            cdp.on(name, self._on_end)
        cdp.on("Page.navigatedWithinDocument", self._on_cleared)

    def _on_start(self, params: Json, session: str | None) -> None:
        if session is None and params.get("frameId") == self._frame_id:
            self._idle.clear()

    def _on_loading(self, params: Json, session: str | None) -> None:
        if session is None and params.get("frameId") == self._frame_id:
            self._loading = True

    def _on_cleared(self, params: Json, session: str | None) -> None:
        if session is None and params.get("frameId") == self._frame_id and not self._loading:
            self._idle.set()

    def _on_end(self, params: Json, session: str | None) -> None:
        if session is None and params.get("frameId") == self._frame_id:
            self._loading = False  # Chrome clears a scheduled navigation when its load begins: then it is not over
            self._idle.set()

    async def settle(self) -> None:
        """Return once the page is loaded and quiet, or the bound on quietness is reached.

        Raises:
            DialogOpen: one opened meanwhile.
            TimedOut: a started load did not end within LOAD_TIMEOUT_S.
        """
        for _ in range(_MOST_DOCUMENTS):
            await self.loaded()
            self._dialogs.refuse()
            try:
                await self._script.document_nonce()
                await self._script.call("settle", QUIET_MS, MOST_MS)
            except DocumentReplaced:
                continue
            if self._idle.is_set():
                return

    async def loaded(self, timeout_s: float | None = None) -> None:
        """Return once no load is under way, a dialog waits, or the tab is gone.

        A load is waited for in vain once, and not again at each action after that.

        Raises:
            DialogOpen: one opened meanwhile.
            TimedOut: a started load did not end within `timeout_s` seconds; None: LOAD_TIMEOUT_S.
        """
        if self._dialogs.waiting is not None:
            return
        await self._cdp.send("Page.getFrameTree")  # behind its answer come no older events
        dialog = asyncio.create_task(self._dialogs.opened.wait())
        closed = asyncio.create_task(self._cdp.closed.wait())
        idle = asyncio.create_task(self._idle.wait())
        try:
            bound_s = LOAD_TIMEOUT_S if timeout_s is None else timeout_s
            ends = {closed, dialog, idle}
            done, _ = await asyncio.wait(ends, timeout=bound_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            dialog.cancel()
            closed.cancel()
            idle.cancel()
        if not done:
            self._idle.set()
            raise TimedOut(SLOW, input_sent=True)

    async def stop(self) -> None:
        """Stop the load that is under way, as the browser's stop button does, and wait no longer for it."""
        await self._cdp.send("Page.stopLoading")
        self._idle.set()
