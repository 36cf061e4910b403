"""One tab of the driver `current`: reads over CDP, input over Playwright, every foreign error translated here."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.async_api import Dialog as PlaywrightDialog
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page
from playwright.async_api import TimeoutError as PlaywrightTimeout

from harness.drivers.ax_read import AxReader
from harness.drivers.base import Dialog, DialogKind, RefTarget
from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
from harness.drivers.dialogs import OpenDialogs
from harness.drivers.inputs import INPUT_TIMEOUT_S, Inputs
from harness.drivers.load_failure import load_failure
from harness.drivers.page_script import REPLACED, PageScript
from harness.drivers.script_answer import check
from harness.drivers.settle import Settler
from observe.dom import MARK_ATTRIBUTE, decode_dom, decode_text
from observe.errors import (
    DialogOpen,
    DocumentReplaced,
    DriverGone,
    LoadFailed,
    MalformedRead,
    NotEditable,
    PageGone,
    TimedOut,
)
from observe.model import AxText, DomObservation, PageText, Stamp

NAVIGATION_TIMEOUT_MS = 15_000
FILE_CHOOSER_TIMEOUT_MS = 2_000
SCREENSHOT_TIMEOUT_MS = 15_000
SCREENSHOT_QUALITY = 60


CRASHED = "The page crashed."


class CurrentPage:
    """One tab. `start` and `stop` belong to the driver that opened it."""

    def __init__(self, page: Page, cdp: CdpConnection, browser: CdpConnection, target_id: str) -> None:
        self.target_id = target_id
        self._page = page
        self._cdp = cdp
        self._script = PageScript(cdp, target_id)
        self._ax = AxReader(cdp, browser, target_id)
        self._settler = Settler(cdp, self._script, target_id)
        self._dialogs = OpenDialogs()
        self._inputs = Inputs(self._dialogs)
        self._crashed = False

    async def start(self) -> None:
        """Listen to the tab."""
        self._page.on("dialog", self._on_dialog)
        self._cdp.on("Inspector.targetCrashed", self._on_crash)
        async with self._translated():
            await self._cdp.send("Page.enable")
            await self._cdp.send("Runtime.enable")
            await self._cdp.send("Inspector.enable")

    async def stop(self) -> None:
        """End what still runs for this tab; a dialog that nobody answered goes with it."""
        await self._inputs.stop()
        await self._ax.stop()

    async def dispose(self) -> None:
        """Close the tab together with the browser context that was made for it, and stop listening."""
        await self.stop()
        with suppress(PlaywrightError):  # the browser may be gone, and the context with it
            await self._page.context.close()
        await self._cdp.close()

    # ---- reads ----

    async def document_nonce(self) -> str:
        async with self._translated():
            return await self._script.document_nonce()

    async def read_ax(self) -> AxText:
        async with self._translated():
            return await self._ax.read()

    async def read_text(self) -> PageText:
        async with self._translated():
            return decode_text(await self._script.call("text"))

    async def read_dom(self, stamp: Stamp) -> DomObservation:
        async with self._translated():
            return decode_dom(await self._script.call("observe", stamp.nonce), stamp)

    # ---- actions ----

    async def navigate(self, url: str) -> None:
        """Load `url` in this tab.

        Raises:
            LoadFailed: Chrome could not load it.
            TimedOut: it did not finish within NAVIGATION_TIMEOUT_MS.
        """
        timeout_ms = NAVIGATION_TIMEOUT_MS
        try:
            await self._input(lambda: self._page.goto(url, wait_until="load", timeout=timeout_ms), loads=True)
        except LoadFailed:
            # Chrome's own error page still comes, and would end the next load.
            async with self._translated(sent=True):
                await self._settler.loaded()
            raise

    async def click(self, target: RefTarget) -> None:
        async with self._translated():
            point = check(await self._script.call("click", target.stamp.nonce, target.n))
        await self._input(lambda: self._page.mouse.click(point["x"], point["y"]))

    async def type(self, target: RefTarget, text: str) -> str | None:
        async with self._translated():
            try:
                ready = check(await self._script.call("type", target.stamp.nonce, target.n, text))
            except DialogOpen as opened:
                raise DialogOpen(f"{opened.message} Input may already have been sent.", input_sent=True) from opened
        if not ready["typed"]:
            if text:
                await self._input(lambda: self._page.keyboard.insert_text(text))
            elif not ready["empty"]:
                await self._input(lambda: self._page.keyboard.press("Delete"))
        return await self._value_now(target)

    async def _value_now(self, target: RefTarget) -> str | None:
        if self.dialog is not None:
            return None
        async with self._translated(sent=True):
            try:
                value = await self._script.call("valueNow", target.stamp.nonce, target.n)
            except DocumentReplaced:
                return None
        return value if isinstance(value, str) else None

    async def select_option(self, target: RefTarget, labels: tuple[str, ...]) -> None:
        async with self._translated():
            try:
                check(await self._script.call("selectOption", target.stamp.nonce, target.n, list(labels)))
            except DialogOpen:
                return  # the choice was made, and its event opened the dialog

    async def upload(self, target: RefTarget | None, path: Path) -> None:
        mark = secrets.token_hex(16)
        nonce, number = (target.stamp.nonce, target.n) if target is not None else (None, None)
        async with self._translated():
            await self._script.document_nonce()
            answer = await self._script.call("upload", nonce, number, mark)
        if target is not None and answer["status"] == "no_file_field":
            await self._upload_by_chooser(target, path)
            return
        check(answer)
        try:
            field = self._page.locator(f"[{MARK_ATTRIBUTE}='{mark}']")
            await self._input(lambda: field.set_input_files(path))
        finally:
            if self.dialog is None and not self._cdp.closed.is_set():
                async with self._translated(sent=True):
                    await self._script.call("unmark")

    async def _upload_by_chooser(self, target: RefTarget, path: Path) -> None:
        """Click what opens a file chooser, and answer that."""
        try:
            async with self._page.expect_file_chooser(timeout=FILE_CHOOSER_TIMEOUT_MS) as chooser:
                await self.click(target)
            opened = await chooser.value
            await self._input(lambda: opened.set_files(path))
        except PlaywrightTimeout as error:
            raise NotEditable("The element opens no file chooser.", input_sent=True) from error

    async def press_key(self, key: str) -> None:
        typed = len(key) == 1 and not key.isascii()  # Playwright knows the keys of a US keyboard alone
        keyboard = self._page.keyboard
        await self._input(lambda: keyboard.insert_text(key) if typed else keyboard.press(key))

    async def scroll(self, delta_y: int) -> int:
        async with self._translated():
            await self._script.document_nonce()
            moved = await self._script.call("scroll", delta_y)
        return int(moved["moved"])

    async def screenshot(self) -> bytes:
        self._ready()
        async with self._translated():
            return await self._page.screenshot(
                type="jpeg", quality=SCREENSHOT_QUALITY, scale="css", timeout=SCREENSHOT_TIMEOUT_MS
            )

    async def settle(self) -> None:
        if self.dialog is not None:
            return
        try:
            async with self._translated(sent=True):
                await self._settler.settle()
        except DialogOpen:
            return

    async def close(self) -> None:
        async with self._translated():
            await self._page.close()

    # ---- dialogs ----

    @property
    def dialog(self) -> Dialog | None:
        return self._dialogs.waiting

    def take_alerts(self) -> tuple[Dialog, ...]:
        return self._dialogs.take_alerts()

    async def answer_dialog(self, accept: bool, text: str | None) -> None:
        """Answer the waiting dialog; the input that opened it then ends too."""
        if (answer := self._dialogs.take()) is None:
            return
        async with self._translated(sent=True):
            await answer(accept, text)
            await self._inputs.drain()

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
            self._cdp.fail_pending(self._dialogs.wait(dialog, answer))

    # ---- waiting and errors ----

    async def _input(self, send: Callable[[], Awaitable[Any]], *, loads: bool = False) -> None:
        if self._cdp.closed.is_set():
            raise self._gone(None)
        async with self._translated(sent=True, loads=loads):
            await self._inputs.send(send, INPUT_TIMEOUT_S + (NAVIGATION_TIMEOUT_MS / 1000 if loads else 0))

    def _on_crash(self, _params: Json, _session: str | None) -> None:
        self._crashed = True
        self._cdp.fail_pending(PageGone(CRASHED))

    def _ready(self) -> None:
        if self._crashed:
            raise PageGone(CRASHED)
        self._dialogs.refuse()

    @asynccontextmanager
    async def _translated(self, *, sent: bool | None = None, loads: bool = False) -> AsyncIterator[None]:
        """Foreign errors as refusals; `sent`: input may have reached the page; `loads`: an address was to be loaded."""
        try:
            self._ready()
            yield
        except CdpClosed as error:
            raise self._gone(sent) from error
        except CdpTimeout as error:
            raise TimedOut("The page did not answer in time.", input_sent=sent) from error
        except CdpError as error:
            raise DocumentReplaced(REPLACED, input_sent=sent) from error
        except PlaywrightTimeout as error:
            raise TimedOut("The page did not finish in time; it may already have acted.", input_sent=sent) from error
        except PlaywrightError as error:
            if self._page.is_closed() or self._cdp.closed.is_set():
                raise self._gone(sent) from error
            if loads:
                raise LoadFailed(load_failure(error.message), input_sent=sent) from error
            raise MalformedRead("the browser refused the input") from error

    def _gone(self, sent: bool | None) -> PageGone | DriverGone:
        browser = self._page.context.browser
        if browser is not None and not browser.is_connected():
            return DriverGone("The browser ended.", input_sent=sent)
        return PageGone("The tab was closed.", input_sent=sent)
