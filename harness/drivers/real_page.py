"""What the pages of the drivers on a real browser share: reads and checks by the page script over CDP, native dialogs,
and the refusals that Chrome's own errors stand for.

A driver's page adds how its input is sent, and translates the errors of what it sends it with.
"""

import asyncio
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path

from harness.drivers.base import Dialog, RefTarget
from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
from harness.drivers.dialogs import Answer, OpenDialogs
from harness.drivers.file_chooser import answer_file_chooser
from harness.drivers.inputs import Inputs
from harness.drivers.page_script import REPLACED, PageScript
from harness.drivers.press import Guarding, Press
from harness.drivers.script_answer import check, check_point, check_typed
from harness.drivers.settle import Settler
from observe.dom import decode_dom, decode_elements, decode_ids, decode_text
from observe.errors import DialogOpen, DocumentReplaced, DriverGone, PageGone, TimedOut
from observe.model import DomObservation, PageText, SearchedElements, Stamp

SCREENSHOT_QUALITY = 60

ALIVE_S = 2.0
"""Seconds in which a living browser answers: who has lost the tab asks it whether only the tab is gone."""

CLOSED = "The tab was closed."
BROWSER_ENDED = "The browser ended."
HELD_UP = "The dialog was answered, but the click that it had held up was refused. "
MAYBE_SENT = " Input may already have been sent."
CRASHED = "The page crashed."
NO_ANSWER = "The page did not answer in time."


class RealPage(ABC):
    """One tab of a real browser. `lost` is set once the tab is closed or has crashed, `ended` once nothing of the page
    is left after that: no process, connection or folder.
    """

    def __init__(self, cdp: CdpConnection, browser: CdpConnection, target_id: str) -> None:
        self.target_id = target_id
        self.lost = asyncio.Event()
        self.ended = asyncio.Event()
        self._cdp = cdp
        self._browser = browser
        self._script = PageScript(cdp, target_id)
        self._dialogs = OpenDialogs()
        self._settler = Settler(cdp, self._script, self._dialogs, target_id)
        self._inputs = Inputs(self._dialogs, self.lost)
        self._held: Press | None = None  # that of the click which a dialog holds up
        self._typing = False  # whether the page script may still wait for a text
        self._crashed = False
        cdp.on("Inspector.targetCrashed", self._on_crash)
        cdp.at_end(self._on_closed)

    async def _listen(self) -> None:
        """Have Chrome tell what happens in the tab."""
        for domain in ("Page", "Runtime", "Inspector"):
            await self._cdp.send(f"{domain}.enable")
        await self._script.begin()

    # ---- reads ----

    async def document_nonce(self) -> str:
        async with self._translated():
            return await self._script.document_nonce()

    async def read_text(self) -> PageText:
        async with self._translated():
            return decode_text(await self._script.call("text"))

    async def read_dom(self, stamp: Stamp, *, counted: bool = True, before: int = 0) -> DomObservation:
        async with self._translated():
            return decode_dom(await self._script.call("observe", stamp.nonce, counted, before), stamp)

    async def read_elements(self) -> SearchedElements:
        async with self._translated():
            return decode_elements(await self._script.call("elements"))

    async def read_chosen(self, stamp: Stamp, chosen: Sequence[int]) -> DomObservation:
        async with self._translated():
            return decode_dom(await self._script.call("observeChosen", stamp.nonce, list(chosen)), stamp)

    async def read_ids(self, stamp: Stamp) -> tuple[int, ...]:
        async with self._translated():
            return decode_ids(await self._script.nodes("stampedItems", stamp.nonce))

    # ---- actions ----

    async def click(self, target: RefTarget) -> None:
        point = await self._checked_point(target)
        press = Press(self._script, self._dialogs, target, point)
        await self._click(point, press.guarded)
        self._held = press if self.dialog is not None else None

    async def click_at(self, x: float, y: float) -> None:
        await self._check_point(x, y)
        await self._click((x, y), nullcontext)

    @abstractmethod
    async def _click(self, point: tuple[float, float], guarding: Guarding) -> None:
        """Move the mouse there, and press and release it inside of what `guarding` makes."""
        ...

    async def _checked_point(self, target: RefTarget) -> tuple[float, float]:
        """Where a click hits the element as it is now; in px from the window's corner.

        Raises:
            Refusal: the element is not to be clicked, or not the one that was shown.
        """
        async with self._translated():
            point = check(await self._script.call("click", target.stamp.nonce, target.n))
        return point["x"], point["y"]

    async def _check_point(self, x: float, y: float) -> None:
        """
        Raises:
            NotClickable: the point lies outside of the window.
        """
        async with self._translated():
            await self._script.document_nonce()
            check_point(x, y, await self._script.call("size"))

    async def _scrolled(self) -> int | None:
        """How far the scroll that was just sent went, once it stands still; None where the page cannot be asked."""
        if self.dialog is not None:
            return None
        async with self._translated(sent=True):
            try:
                far: float = await self._script.call("scrolled")
                return round(far)
            except (DialogOpen, DocumentReplaced):  # the scroll was sent, and led to that
                return None

    async def _selected_field(self, target: RefTarget, text: str) -> Json:
        """Give the field the focus and select what it holds; `typed` is true where it has taken the text already.

        Raises:
            Refusal: the field takes no text, or is not the one that was shown.
        """
        self._typing = True
        async with self._translated():
            try:
                return check(await self._script.call("type", target.stamp.nonce, target.n, text))
            except DialogOpen as opened:  # the focus or the set value opened it
                raise DialogOpen(f"{opened.message}{MAYBE_SENT}", input_sent=True) from opened

    async def _typed(self, target: RefTarget) -> str | None:
        """What the field holds once it was sent its text; None where that cannot be told, or is secret.

        Raises:
            NotEditable: the text was sent when this was no longer the field with the focus.
        """
        if self.dialog is not None:
            return None
        async with self._translated(sent=True):
            try:
                answer = await self._script.call("typed", target.stamp.nonce, target.n)
            except (DialogOpen, DocumentReplaced):  # the text was sent, and led to that a moment later
                return None
        self._typing = False
        return check_typed(answer)

    async def _end_typing(self) -> None:
        """Before a key: a text that never came, as a dialog opened first, must not cost it its effect."""
        if self._typing:
            async with self._translated():
                with suppress(DocumentReplaced):
                    await self._script.call("endTyping")
            self._typing = False

    async def select_option(self, target: RefTarget, labels: tuple[str, ...]) -> None:
        async with self._translated():
            with suppress(DialogOpen):  # the choice was made, and its event opened the dialog
                check(await self._script.call("selectOption", target.stamp.nonce, target.n, list(labels)))

    async def upload(self, target: RefTarget | None, path: Path) -> None:
        nonce, number = (target.stamp.nonce, target.n) if target is not None else (None, None)
        mark = secrets.token_hex(16)
        async with self._translated():
            await self._script.document_nonce()
            answer = await self._script.call("upload", nonce, number, mark)
        if target is not None and answer["status"] == "no_file_field":
            async with self._translated(sent=True):
                await answer_file_chooser(self._cdp, self._dialogs, path, lambda: self.click(target))
            return
        check(answer)
        await self._give_file(mark, path)

    @abstractmethod
    async def _give_file(self, mark: str, path: Path) -> None:
        """Give the file to the field that has that mark, which leaves it again."""
        ...

    async def show(self) -> None:
        async with self._translated():
            await self._cdp.send("Page.bringToFront")

    async def close(self) -> None:
        """Close the tab, also one that has crashed; on return nothing of the page is left."""
        if not self._crashed:
            async with self._translated():
                await self._close_tab()
        else:
            with suppress(CdpClosed, CdpError, CdpTimeout):  # the browser may be gone, and the tab with it
                await self._close_tab()
        await self.ended.wait()

    async def leave(self) -> None:
        """End what belongs to the page; its tab stays, unless the tab's browser context was made for it."""
        self.lost.set()
        await self.ended.wait()

    async def _close_tab(self) -> None:
        await self._browser.send("Target.closeTarget", {"targetId": self.target_id})
        await self._cdp.closed.wait()

    async def settle(self) -> None:
        if self.dialog is not None:
            return
        with suppress(DialogOpen):  # one that opened meanwhile is told as waiting
            async with self._translated(sent=True):
                await self._settler.settle()

    # ---- dialogs ----

    @property
    def dialog(self) -> Dialog | None:
        return None if self.lost.is_set() else self._dialogs.waiting

    def take_alerts(self) -> tuple[Dialog, ...]:
        return self._dialogs.take_alerts()

    async def answer_dialog(self, accept: bool, text: str | None) -> None:
        """Answer the waiting dialog; the input that opened it then ends too, or the next dialog opens.

        Raises:
            Refusal: the answer was given, and the click that it had held up no longer met its element.
        """
        await self._refuse_lost()
        if (answer := self._dialogs.take()) is None:
            return
        async with self._translated(sent=True):
            with suppress(DialogOpen):  # the answer was given; what it led to has opened the next dialog
                await answer(accept, text)
            await self._inputs.drain()
        if self._held is not None and (refusal := self._held.refusal) is not None:
            self._held = None
            refusal.message = HELD_UP + refusal.message
            raise refusal

    def _hold_for(self, dialog: Dialog, answer: Answer) -> None:
        """A dialog waits for its answer; what is asked of the page meanwhile is refused."""
        self._cdp.fail_pending(self._dialogs.wait(dialog, answer))

    # ---- errors ----

    def _on_closed(self) -> None:
        self.lost.set()

    def _on_crash(self, _params: Json, _session: str | None) -> None:
        self._crashed = True
        self.lost.set()
        self._cdp.fail_pending(CdpClosed(CRASHED))

    async def _gone(self, sent: bool | None) -> PageGone | DriverGone:
        """What is gone. The tab's connection may break before the browser's."""
        try:
            await self._browser.send("Browser.getVersion", timeout_s=ALIVE_S)
        except (CdpClosed, CdpError, CdpTimeout):
            return DriverGone(BROWSER_ENDED, input_sent=sent)
        return PageGone(CRASHED if self._crashed else CLOSED, input_sent=sent)

    async def _refuse_lost(self) -> None:
        """
        Raises:
            PageGone: the tab was closed or has crashed.
            DriverGone: the browser ended.
        """
        if self.lost.is_set():
            raise await self._gone(None)

    @asynccontextmanager
    async def _translated(self, *, sent: bool | None = None) -> AsyncIterator[None]:
        """Chrome's errors as refusals; `sent`: input may have reached the page."""
        await self._refuse_lost()
        self._dialogs.refuse()
        try:
            yield
        except CdpClosed as error:
            raise await self._gone(sent) from error
        except CdpTimeout as error:
            raise TimedOut(NO_ANSWER, input_sent=sent) from error
        except CdpError as error:
            raise DocumentReplaced(REPLACED, input_sent=sent) from error
