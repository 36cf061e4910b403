"""One tab of the driver `agent-browser`: AX text and input through the native child; refs, checks, dialogs, uploads and
screenshots through the host's own connection to the tab.

Nothing that the child says decides anything: not its refs, not its origin, not its nesting, not its "Done".
"""

import base64
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from harness.drivers.agent_calls import Guard, NativeChild, NativeFault
from harness.drivers.agent_frames import frames_in_frames
from harness.drivers.base import Dialog, DialogKind, RefTarget
from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
from harness.drivers.dialogs import OpenDialogs
from harness.drivers.file_chooser import answer_file_chooser
from harness.drivers.inputs import Inputs
from harness.drivers.load_failure import load_failure
from harness.drivers.page_script import REPLACED, PageScript
from harness.drivers.script_answer import check
from harness.drivers.settle import Settler
from observe.dom import STAMP_ATTRIBUTE, decode_dom, decode_text
from observe.errors import (
    ChangedElement,
    DialogOpen,
    DocumentReplaced,
    DriverGone,
    LoadFailed,
    MalformedRead,
    NotClickable,
    NotEditable,
    PageGone,
    TimedOut,
)
from observe.model import AxText, DomObservation, PageText, Stamp

SCREENSHOT_QUALITY = 60
INPUT_TIMEOUT_S = 60.0
"""Includes the wait for the profile's queue; each command has its own bound from its turn on."""

ALIVE_S = 2.0
"""Seconds in which a living browser answers: who has lost the tab asks it whether only the tab is gone."""

_READ_TRIES = 3
"""An alert that the host is just accepting blocks a read; a read sends nothing, so it may be tried again."""

NOT_READ_LINE = "- FrameNotRead"
"""Stands at the end of the text for each frame inside a frame: the child leaves those out without a mark."""

COPIED = "Another element carries this element's mark; observe again."
CRASHED = "The page crashed."
NOT_DONE = "The browser driver did not carry the action out; observe before trying again."


RefusalType = type[NotClickable] | type[NotEditable]


class AgentPage:
    """One tab. `start` and `stop` belong to the driver that opened it; `guard` is asked around each native command."""

    def __init__(self, child: NativeChild, cdp: CdpConnection, browser: CdpConnection, target_id: str) -> None:
        self.target_id = target_id
        self.guard: Guard = lambda: None
        self._child = child
        self._cdp = cdp
        self._browser = browser
        self._script = PageScript(cdp, target_id)
        self._settler = Settler(cdp, self._script, target_id)
        self._dialogs = OpenDialogs()
        self._inputs = Inputs(self._dialogs)
        self._crashed = False

    async def start(self, viewport: Json) -> None:
        """Listen to the tab and give it the window's size."""
        self._cdp.on("Page.javascriptDialogOpening", self._on_dialog)
        self._cdp.on("Inspector.targetCrashed", self._on_crash)
        async with self._translated():
            for domain in ("Page", "Runtime", "Inspector"):
                await self._cdp.send(f"{domain}.enable")
            await self._cdp.send("Emulation.setDeviceMetricsOverride", viewport)
            # Behind another tab no frame is drawn, for which the child's click would wait 5 s, and the queue with it.
            await self._cdp.send("Emulation.setFocusEmulationEnabled", {"enabled": True})

    async def stop(self) -> None:
        """End what still runs for this tab."""
        await self._inputs.stop()

    # ---- reads ----

    async def document_nonce(self) -> str:
        async with self._translated():
            return await self._script.document_nonce()

    async def read_text(self) -> PageText:
        async with self._translated():
            return decode_text(await self._script.call("text"))

    async def read_dom(self, stamp: Stamp) -> DomObservation:
        async with self._translated():
            return decode_dom(await self._script.call("observe", stamp.nonce), stamp)

    async def read_ax(self) -> AxText:
        async with self._translated():
            text = await self._snapshot()
            unread = await frames_in_frames(self._cdp, self._browser, self.target_id)
        return AxText(source="native", text="\n".join([text, *[NOT_READ_LINE] * unread]))

    async def _snapshot(self) -> str:
        bound_s = self._child.bounds.snapshot_s
        for left in reversed(range(_READ_TRIES)):
            try:
                data = await self._input(lambda: self._native("snapshot", timeout_s=bound_s, compact=False))
            except NativeFault:
                await self._script.document_nonce()  # waits for an alert that is just being accepted
                if left == 0:
                    raise
                continue
            self._dialogs.refuse()  # one that opened meanwhile holds the read
            if not isinstance(text := data.get("snapshot"), str):
                raise MalformedRead("native snapshot")
            return text
        raise AssertionError("unreachable")

    # ---- actions ----

    async def navigate(self, url: str) -> None:
        async with self._translated(loads=True):
            try:
                await self._input(lambda: self._native("navigate", url=url, waitUntil="load"))
            except NativeFault:
                await self._settler.loaded()  # Chrome's own error page still comes
                raise

    async def click(self, target: RefTarget) -> None:
        async with self._translated(refused=NotClickable):
            point = check(await self._script.call("click", target.stamp.nonce, target.n))
            if await self._has_selector(target) and point["own"]:
                await self._input(lambda: self._native("click", selector=_selector(target)))
            else:
                await self._input(lambda: self._click_at(point["x"], point["y"]))

    async def _click_at(self, x: float, y: float) -> None:
        """For what no selector of the document names: elements in shadow roots, and labels that act for a control."""
        await self._native("mousemove", x=x, y=y)
        await self._native("mousedown")
        await self._native("mouseup")

    async def _has_selector(self, target: RefTarget) -> bool:
        """Whether the stamped attribute names this element, and it alone, in the document."""
        found = await self._script.call("onlyStamped", target.stamp.nonce, target.n)
        if found == "copied":
            raise ChangedElement(COPIED)
        return bool(found == "document")

    async def type(self, target: RefTarget, text: str) -> str | None:
        async with self._translated(refused=NotEditable):
            ready = check(await self._sending("type", target, text))
            if not ready["typed"]:
                if ready["plain"] and await self._has_selector(target):
                    await self._input(lambda: self._native("fill", selector=_selector(target), value=text))
                elif text:
                    await self._input(lambda: self._native("inserttext", text=text))
                elif not ready["empty"]:
                    await self._input(lambda: self._native("press", key="Delete"))
            if self.dialog is not None:
                return None
            with suppress(DocumentReplaced):
                value = await self._script.call("valueNow", target.stamp.nonce, target.n)
                return value if isinstance(value, str) else None
        return None

    async def select_option(self, target: RefTarget, labels: tuple[str, ...]) -> None:
        async with self._translated():
            try:
                check(await self._script.call("selectOption", target.stamp.nonce, target.n, list(labels)))
            except DialogOpen:
                return  # the choice was made, and its event opened the dialog

    async def upload(self, target: RefTarget | None, path: Path) -> None:
        nonce, number = (target.stamp.nonce, target.n) if target is not None else (None, None)
        async with self._translated():
            await self._script.document_nonce()
            answer = await self._script.call("upload", nonce, number, secrets.token_hex(16))
            if target is not None and answer["status"] == "no_file_field":
                await answer_file_chooser(self._cdp, path, lambda: self.click(target))
                return
            check(answer)
            field = await self._script.handle("marked")
            with suppress(DialogOpen):  # then the file was taken, and its event opened the dialog
                await self._cdp.send("DOM.setFileInputFiles", {"files": [str(path.resolve())], "objectId": field})
                await self._script.call("unmark")

    async def press_key(self, key: str) -> None:
        async with self._translated(sent=True):
            if len(key) == 1 and not key.isascii():  # no key of a US keyboard
                await self._input(lambda: self._native("inserttext", text=key))
            else:
                await self._input(lambda: self._native("press", key=key))

    async def scroll(self, delta_y: int) -> int:
        async with self._translated(sent=True):
            await self._script.document_nonce()
            before = await self._script.call("scrolled")
            direction = "down" if delta_y > 0 else "up"
            await self._input(lambda: self._native("scroll", direction=direction, amount=abs(delta_y)))
            moved: float = await self._script.call("scrolled") - before
            return round(moved)

    async def screenshot(self) -> bytes:
        async with self._translated():
            taken = await self._cdp.send(
                "Page.captureScreenshot", {"format": "jpeg", "quality": SCREENSHOT_QUALITY, "optimizeForSpeed": True}
            )
            return base64.b64decode(taken["data"])

    async def settle(self) -> None:
        if self.dialog is not None:
            return
        async with self._translated(sent=True):
            await self._settler.settle()

    async def close(self) -> None:
        async with self._translated():
            await self._browser.send("Target.closeTarget", {"targetId": self.target_id})
            await self._cdp.closed.wait()

    # ---- dialogs ----

    @property
    def dialog(self) -> Dialog | None:
        return self._dialogs.waiting

    def take_alerts(self) -> tuple[Dialog, ...]:
        return self._dialogs.take_alerts()

    async def answer_dialog(self, accept: bool, text: str | None) -> None:
        if (answer := self._dialogs.take()) is None:
            return
        async with self._translated(sent=True):
            await self._child.resume()
            await answer(accept, text)
            await self._inputs.drain()

    def _on_dialog(self, params: Json, _session: str | None) -> None:
        async def answer(accept: bool, text: str | None) -> None:
            given = {"promptText": params.get("defaultPrompt", "") if text is None else text}
            await self._cdp.send(
                "Page.handleJavaScriptDialog", {"accept": accept, **(given if kind == "prompt" else {})}
            )

        async def accept() -> None:
            with suppress(CdpClosed, CdpError, CdpTimeout):  # the page may be gone, and the alert with it
                await answer(True, None)

        kind: DialogKind = params["type"]
        dialog = Dialog(kind=kind, message=params["message"])
        if dialog.kind == "alert":
            self._dialogs.accepted(dialog)
            self._inputs.start(accept())
        else:
            self._child.hold()
            self._cdp.fail_pending(self._dialogs.wait(dialog, answer))

    # ---- waiting and errors ----

    async def _native(self, action: str, *, timeout_s: float | None = None, **fields: object) -> dict[str, Any]:
        return await self._child.call(action, guard=self.guard, timeout_s=timeout_s, **fields)

    async def _input(self, send: Callable[[], Awaitable[Any]]) -> Any:
        """What the child answered; None once a dialog holds the command."""
        if self._cdp.closed.is_set():
            raise await self._gone(None)
        return await self._inputs.send(send, INPUT_TIMEOUT_S)

    async def _sending(self, name: str, target: RefTarget, *arguments: str) -> Any:
        """A script call that itself changes the page; a dialog that it opens comes behind that change."""
        try:
            return await self._script.call(name, target.stamp.nonce, target.n, *arguments)
        except DialogOpen as opened:
            raise DialogOpen(f"{opened.message} Input may already have been sent.", input_sent=True) from opened

    def _on_crash(self, _params: Json, _session: str | None) -> None:
        self._crashed = True
        self._cdp.fail_pending(PageGone(CRASHED))

    def _ready(self) -> None:
        if self._crashed:
            raise PageGone(CRASHED)
        self._dialogs.refuse()

    @asynccontextmanager
    async def _translated(
        self,
        *,
        sent: bool | None = None,
        loads: bool = False,
        refused: "RefusalType | None" = None,
    ) -> AsyncIterator[None]:
        """Foreign errors as refusals. `refused`: what it means when the child did not carry out a checked action."""
        try:
            self._ready()
            yield
        except CdpClosed as error:
            raise await self._gone(sent) from error
        except CdpTimeout as error:
            raise TimedOut("The page did not answer in time.", input_sent=sent) from error
        except CdpError as error:
            raise DocumentReplaced(REPLACED, input_sent=sent) from error
        except NativeFault as fault:
            self._dialogs.refuse()
            if fault.code == "tab_gone" or self._cdp.closed.is_set():
                raise await self._gone(True) from fault
            if loads:
                raise LoadFailed(load_failure(fault.text), input_sent=True) from fault
            if refused is not None:
                raise refused(NOT_DONE, input_sent=True) from fault
            raise MalformedRead(f"native {fault.action}") from fault

    async def _gone(self, sent: bool | None) -> PageGone | DriverGone:
        """What is gone. The tab's connection may break before the browser's; a dead browser ends the child too."""
        try:
            await self._browser.send("Browser.getVersion", timeout_s=ALIVE_S)
        except (CdpClosed, CdpError, CdpTimeout):
            await self._child.abort()
            return DriverGone("The browser ended.", input_sent=sent)
        return PageGone("The tab was closed.", input_sent=sent)


def _selector(target: RefTarget) -> str:
    return f'[{STAMP_ATTRIBUTE}="{target.stamp.nonce}:{target.n}"]'
