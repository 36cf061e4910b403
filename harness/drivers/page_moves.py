"""How a page goes from one document to the next, as Chrome tells it, so that a load is answered when all of it is told.

Playwright and the direct DevTools connection hear of a document each for itself, and the page goes elsewhere when it
likes: what is asked for in between is broken off, or taken for something of the document that has gone.
"""

import asyncio
from contextlib import suppress

from playwright.async_api import Frame, Page

from harness.drivers.cdp import CdpConnection, CdpError, CdpTimeout, Json

CATCH_UP_S = 1.0
"""Seconds that the answer of a load waits for Chrome to have told all of it; a busy document may say nothing."""

ATTEMPTS = 5
"""Loads of one address where the page, going elsewhere by itself, breaks them off. Playwright also takes a load that it
has given up for one that breaks off the next."""

FAULT_PAGE = "chrome-error://chromewebdata/"
"""What Chrome shows in place of an address that could not be loaded."""


class PageMoves:
    """The moves of one page. Raises as `CdpConnection.send`, but for what a change of documents ends.

    `own`: the page has asked for another document by itself since the last load was answered.
    """

    def __init__(self, page: Page, cdp: CdpConnection) -> None:
        self.own = False
        self._page = page
        self._cdp = cdp
        self._fault_shown = asyncio.Event()

    async def start(self) -> None:
        """Listen."""
        self._page.on("framenavigated", self._navigated)
        self._cdp.on("Page.frameRequestedNavigation", self._requested)
        await self._cdp.send("Page.enable")

    async def prepare(self) -> None:
        """Before a load: what the page began by itself is stopped. A document that is there is left to go on."""
        self._fault_shown.clear()
        for _ in range(ATTEMPTS if self.own else 0):
            with suppress(CdpError):  # another document came first, and this was not heard
                await self._cdp.send("Page.stopLoading")
                return

    async def fault_page(self, timeout_s: float) -> None:
        """Wait for the page of Chrome's own that follows a load that failed: it would break the next load off."""
        with suppress(TimeoutError):
            async with asyncio.timeout(min(CATCH_UP_S, timeout_s)):
                await self._fault_shown.wait()
        await self.caught_up(timeout_s)

    async def caught_up(self, timeout_s: float) -> None:
        """After a load: let what Chrome says of it arrive on the direct connection, too. A value that is asked for
        before would be taken for one of the document that has gone.
        """
        await self.heard(timeout_s)
        self.own = False

    async def heard(self, timeout_s: float) -> None:
        """Let what Chrome has said so far arrive on the direct connection, `own` among it."""
        with suppress(CdpError, CdpTimeout):
            await self._cdp.send("Runtime.evaluate", {"expression": "0"}, timeout_s=min(CATCH_UP_S, timeout_s))

    def _navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None and frame.url == FAULT_PAGE:
            self._fault_shown.set()

    def _requested(self, _params: Json, _session: str | None) -> None:
        self.own = True
