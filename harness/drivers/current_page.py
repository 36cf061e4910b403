"""One tab of the driver `current`: reads over CDP, input over Playwright, every foreign error translated here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.async_api import Dialog as PlaywrightDialog
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page
from playwright.async_api import TimeoutError as PlaywrightTimeout

from harness.drivers.ax_bounded import BoundedAxReader
from harness.drivers.ax_read import AxReader
from harness.drivers.base import Dialog, DialogKind, RefTarget
from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, EventHandler, Json
from harness.drivers.inputs import INPUT_TIMEOUT_S
from harness.drivers.load_failure import load_failure, refuse_relative
from harness.drivers.press import NOT_PRESSED, Guarding
from harness.drivers.real_page import ALIVE_S, SCREENSHOT_QUALITY, RealPage
from harness.drivers.settle import LOAD_TIMEOUT_S, SLOW
from observe.dom import MARK_ATTRIBUTE
from observe.errors import DialogOpen, LoadFailed, MalformedRead, TimedOut
from observe.model import AxText, Reads, Stamp
from observe.page import Filled

SCREENSHOT_TIMEOUT_MS = 15_000

LATE = "The page did not finish in time; it may already have acted."


class CurrentPage(RealPage):
    """One tab. `start` and `stop` belong to the driver that opened it."""

    def __init__(self, page: Page, cdp: CdpConnection, browser: CdpConnection, target_id: str) -> None:
        super().__init__(cdp, browser, target_id)
        self._page = page
        self._ax = AxReader(cdp, browser, target_id)
        self._bounded = BoundedAxReader(cdp, self._script, self._ax)

    async def start(self) -> None:
        """Listen to the tab."""
        self._page.on("dialog", self._on_dialog)
        self._cdp.on("Page.frameStartedLoading", self._on_load(self._bounded.let_go))
        self._cdp.on("Page.frameStoppedLoading", self._on_load(self._bounded.warm))
        async with self._translated():
            await self._listen()

    def _on_load(self, prepare: Callable[[], Awaitable[None]]) -> EventHandler:
        """What is done beside all else when the main frame begins or ends to load, once a part of a tree was read."""

        def handle(params: Json, session: str | None) -> None:
            if session is None and params.get("frameId") == self.target_id and self._bounded.used:
                self._inputs.start(prepare())

        return handle

    async def stop(self) -> None:
        """End what still runs for this tab; a dialog that nobody answered goes with it."""
        await self._inputs.stop()
        await self._ax.stop()

    async def read_ax(self, filled: Filled | None = None) -> AxText:
        async with self._translated():
            return await (self._ax.read() if filled is None else self._bounded.read(filled))

    async def read_together(self, stamp: Stamp, filled: Filled) -> Reads | None:
        async with self._translated():
            return await self._bounded.read_with_refs(filled, stamp)

    # ---- actions ----

    async def navigate(self, url: str) -> None:
        """Load `url` in this tab.

        Raises:
            LoadFailed: Chrome could not load it, or it has no scheme.
            TimedOut: it did not finish within LOAD_TIMEOUT_S.
        """
        refuse_relative(url)
        try:
            await self._input(lambda: self._load(url), loads=True)
        except LoadFailed:
            # Chrome's own error page still comes, and would end the next load until Playwright too knows of it.
            async with self._translated(sent=True):
                await self._settler.loaded()
            await self._input(self._catch_up)
            raise

    async def _catch_up(self) -> None:
        """Return once Playwright has heard what Chrome had told us before: its answers come behind its events."""
        with suppress(PlaywrightError):  # what it hears can end the question
            await self._page.evaluate("0")

    async def _load(self, url: str) -> None:
        end = asyncio.get_running_loop().time() + LOAD_TIMEOUT_S
        try:
            await self._page.goto(url, wait_until="commit", timeout=LOAD_TIMEOUT_S * 1000)
        except PlaywrightTimeout as error:
            if self.dialog is None:
                await self._settler.stop()
            raise TimedOut(SLOW, input_sent=True) from error
        with suppress(DialogOpen):  # it is open in the page that was loaded
            await self._settler.loaded(max(end - asyncio.get_running_loop().time(), 0))

    async def _click(self, point: tuple[float, float], guarding: Guarding) -> None:
        """One after the other: Chrome loses a release that comes while a dialog opens, and Playwright's own click sends
        the three at once."""
        mouse = self._page.mouse
        moved = False

        async def send() -> None:
            nonlocal moved
            await mouse.move(*point)
            async with guarding():
                moved = True
                await mouse.down()
                await mouse.up()

        try:
            await self._input(send)
        except TimedOut as late:
            if moved:
                raise
            raise TimedOut(NOT_PRESSED, input_sent=True) from late

    async def type(self, target: RefTarget, text: str) -> str | None:
        ready = await self._selected_field(target, text)
        if text and not ready["typed"]:
            await self._input(lambda: self._page.keyboard.insert_text(text))
        elif not (ready["typed"] or ready["empty"]):
            await self._input(lambda: self._page.keyboard.press("Delete"))
        return await self._typed(target)

    async def _give_file(self, mark: str, path: Path) -> None:
        try:
            field = self._page.locator(f"[{MARK_ATTRIBUTE}='{mark}']")
            await self._input(lambda: field.set_input_files(path))
        finally:
            if self.dialog is None and not self._cdp.closed.is_set():
                async with self._translated(sent=True):
                    await self._script.call("unmark")

    async def press_key(self, key: str) -> None:
        await self._end_typing()
        typed = len(key) == 1 and not key.isascii()  # Playwright knows the keys of a US keyboard alone
        keyboard = self._page.keyboard
        await self._input(lambda: keyboard.insert_text(key) if typed else keyboard.press(key))

    async def scroll(self, delta_y: int) -> int | None:
        async with self._translated():
            await self._script.document_nonce()
            await self._script.call("scroll", delta_y)
        return await self._scrolled()

    async def screenshot(self) -> bytes:
        await self.show()
        async with self._translated():
            return await self._page.screenshot(
                type="jpeg", quality=SCREENSHOT_QUALITY, scale="css", timeout=SCREENSHOT_TIMEOUT_MS
            )

    def _on_dialog(self, opened: PlaywrightDialog) -> None:
        async def answer(accept: bool, text: str | None) -> None:
            await (opened.accept(opened.default_value if text is None else text) if accept else opened.dismiss())

        async def accept() -> None:
            with suppress(PlaywrightError):  # the page may be gone, and the alert with it
                await opened.accept()

        kind: DialogKind = opened.type  # type: ignore[assignment]  # Chrome knows these four
        dialog = Dialog(kind=kind, message=opened.message)
        if kind == "alert":
            self._dialogs.accepted(dialog)
            self._inputs.start(accept())
        else:
            self._hold_for(dialog, answer)

    # ---- waiting and errors ----

    async def _input(self, send: Callable[[], Awaitable[Any]], *, loads: bool = False) -> None:
        async with self._translated(sent=True, loads=loads):
            await self._inputs.send(send, INPUT_TIMEOUT_S + (LOAD_TIMEOUT_S if loads else 0))

    @asynccontextmanager
    async def _translated(self, *, sent: bool | None = None, loads: bool = False) -> AsyncIterator[None]:
        """Chrome's errors and Playwright's as refusals; `loads`: an address was to be loaded."""
        try:
            async with super()._translated(sent=sent):
                yield
        except PlaywrightTimeout as error:
            raise TimedOut(LATE, input_sent=sent) from error
        except PlaywrightError as error:
            if self._page.is_closed() or await self._is_lost():
                raise await self._gone(sent) from error
            if loads:
                raise LoadFailed(load_failure(error.message), input_sent=sent) from error
            raise MalformedRead("the browser refused the input") from error

    async def _is_lost(self) -> bool:
        """Playwright may hear of a crash before our own connection, whose events come before its next answer."""
        with suppress(DialogOpen, CdpClosed, CdpError, CdpTimeout):
            await self._cdp.send("Page.getFrameTree", timeout_s=ALIVE_S)
        return self.lost.is_set()
