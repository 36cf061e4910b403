"""One tab of the driver `agent-browser`: AX text and input through the native child; refs, checks, dialogs, uploads and
screenshots through the host's own connection to the tab.

Nothing that the child says decides anything: not its refs, not its origin, not its nesting, not its "Done". It is told
points, keys and text alone, never a selector: the page can move a mark to another element between a check and the
child's own search, but not a point that was just hit-tested.
"""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from harness.drivers.agent_calls import SNAPSHOT, Guard, HeldUp, NativeChild, NativeFault
from harness.drivers.agent_frames import frame_hangs, frames_in_frames
from harness.drivers.agent_input import NativeInput
from harness.drivers.base import Dialog, DialogKind, RefTarget
from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
from harness.drivers.load_failure import load_failure, refuse_relative
from harness.drivers.press import Guarding
from harness.drivers.real_page import ALIVE_S, BROWSER_ENDED, NO_ANSWER, SCREENSHOT_QUALITY, RealPage
from observe.errors import (
    DialogOpen,
    DriverGone,
    LoadFailed,
    MalformedRead,
    NotClickable,
    NotEditable,
    PageGone,
    TimedOut,
)
from observe.model import AxText, Reads, Stamp
from observe.page import Filled

INPUT_TIMEOUT_S = 180.0
"""Includes the wait for the profile's queue; each command has its own bound from its turn on, and ends by that."""

NOT_READ_LINE = "- FrameNotRead"
"""Stands at the end of the text for each frame inside a frame: the child leaves those out without a mark."""

HELD_UP = "The browser driver waited in vain for a page that does not answer; the tab was closed."

NOT_DONE = "The browser driver did not carry the action out; observe before trying again."

RefusalType = type[NotClickable] | type[NotEditable]


class AgentPage(RealPage):
    """One tab. `start` and `stop` belong to the driver that opened it; `guard` is asked around each native command."""

    def __init__(self, child: NativeChild, cdp: CdpConnection, browser: CdpConnection, target_id: str) -> None:
        super().__init__(cdp, browser, target_id)
        self._child = child
        self._child.lost = self.lost.is_set
        self._child.frame_hangs = lambda: frame_hangs(browser, target_id)
        self._native = NativeInput(child, cdp, self._dialogs)

    @property
    def guard(self) -> Guard:
        """Raises the refusal by which authority, control or cancellation stops a command."""
        return self._native.guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self._native.guard = guard

    async def start(self, viewport: Json) -> None:
        """Listen to the tab and give it the window's size."""
        self._cdp.on("Page.javascriptDialogOpening", self._on_dialog)
        self._cdp.on("Page.javascriptDialogClosed", self._on_dialog_closed)
        async with self._translated():
            await self._listen()
            await self._cdp.send("Emulation.setDeviceMetricsOverride", viewport)
            # Behind another tab no frame is drawn, for which a click would wait 5 s, and the queue with it.
            await self._cdp.send("Emulation.setFocusEmulationEnabled", {"enabled": True})

    async def stop(self) -> None:
        """End what still runs for this tab."""
        await self._inputs.stop()

    async def read_ax(self, filled: Filled | None = None) -> AxText:
        bound_s = self._child.bounds.snapshot_s
        async with self._native_faults(sent=None):
            unread = await frames_in_frames(self._cdp, self._browser, self.target_id)
            data = await self._input(lambda: self._native.send(SNAPSHOT, timeout_s=bound_s, compact=False))
            self._dialogs.refuse()  # one that opened meanwhile holds the read
            if data is None or not isinstance(text := data.get("snapshot"), str):
                raise MalformedRead("native snapshot")
        return AxText(source="native", text="\n".join([text, *[NOT_READ_LINE] * unread]))

    async def read_together(self, stamp: Stamp, filled: Filled) -> Reads | None:
        return None

    # ---- actions ----

    async def navigate(self, url: str) -> None:
        """Load `url` in this tab.

        Raises:
            LoadFailed: Chrome could not load it, or it has no scheme.
            TimedOut: it did not finish in time.
        """
        refuse_relative(url)
        async with self._native_faults(loads=True):
            await self._input(lambda: self._native.load(url, self._settler))

    async def _click(self, point: tuple[float, float], guarding: Guarding) -> None:
        async with self._native_faults(refused=NotClickable):
            await self._input(lambda: self._native.click(point, guarding))

    async def type(self, target: RefTarget, text: str) -> str | None:
        ready = await self._selected_field(target, text)
        async with self._native_faults(refused=NotEditable):
            if text and not ready["typed"]:
                await self._input(lambda: self._native.send("inserttext", text=text))
            elif not (ready["typed"] or ready["empty"]):
                await self._input(lambda: self._native.send("press", key="Delete"))
        return await self._typed(target)

    async def _give_file(self, _mark: str, path: Path) -> None:
        async with self._translated():
            field = await self._script.handle("marked")
            with suppress(DialogOpen):  # then the file was taken, and its event opened the dialog
                await self._cdp.send("DOM.setFileInputFiles", {"files": [str(path.resolve())], "objectId": field})
                await self._script.call("unmark")

    async def press_key(self, key: str) -> None:
        await self._end_typing()
        async with self._native_faults():
            await self._input(lambda: self._native.press(key))

    async def scroll(self, delta_y: int) -> int | None:
        async with self._translated():
            await self._script.document_nonce()
            point = await self._script.call("aim", delta_y)
        if point is None:
            return 0
        wheel = {"x": point[0], "y": point[1], "deltaX": 0, "deltaY": delta_y}
        async with self._native_faults():
            await self._input(lambda: self._native.send("wheel", **wheel))
        return await self._scrolled()

    async def screenshot(self) -> bytes:
        await self.show()
        async with self._translated():
            taken = await self._cdp.send(
                "Page.captureScreenshot", {"format": "jpeg", "quality": SCREENSHOT_QUALITY, "optimizeForSpeed": True}
            )
            return base64.b64decode(taken["data"])

    def _on_dialog(self, params: Json, _session: str | None) -> None:
        async def handle(accept: bool, text: str | None) -> None:
            given = {"promptText": params.get("defaultPrompt", "") if text is None else text}
            await self._cdp.send(
                "Page.handleJavaScriptDialog", {"accept": accept, **(given if kind == "prompt" else {})}
            )

        async def answer(accept: bool, text: str | None) -> None:
            await self._child.resume()
            await handle(accept, text)

        async def accept() -> None:
            with suppress(CdpClosed, CdpError, CdpTimeout):  # the page may be gone, and the alert with it
                await handle(True, None)

        kind: DialogKind = params["type"]
        dialog = Dialog(kind=kind, message=params["message"])
        if dialog.kind == "alert":
            self._dialogs.accepted(dialog)
            self._inputs.start(accept())
        else:
            self._child.hold()
            self._hold_for(dialog, answer)

    def _on_dialog_closed(self, _params: Json, _session: str | None) -> None:
        """Somebody else answered the waiting one; ours counts as answered before Chrome tells."""
        if self._dialogs.take() is not None:
            self._inputs.start(self._child.resume())

    # ---- waiting and errors ----

    async def _input(self, send: Callable[[], Awaitable[Any]]) -> Any:
        """What the child answered; None once a dialog holds the command."""
        return await self._inputs.send(send, INPUT_TIMEOUT_S)

    @asynccontextmanager
    async def _native_faults(
        self, *, sent: bool | None = True, loads: bool = False, refused: "RefusalType | None" = None
    ) -> AsyncIterator[None]:
        """As `_translated`, and the child's faults too. `refused`: what one means after a checked action."""
        try:
            async with self._translated(sent=sent):
                yield
        except HeldUp as held:
            with suppress(CdpClosed, CdpError, CdpTimeout):
                await self._close_tab()
            raise PageGone(HELD_UP, input_sent=sent) from held
        except NativeFault as fault:
            if fault.code == "tab_gone" or await self._is_gone():
                raise await self._gone(sent) from fault
            if fault.code == "page_wedged":
                raise TimedOut(NO_ANSWER, input_sent=sent) from fault
            if loads:
                raise LoadFailed(load_failure(fault.text), input_sent=True) from fault
            if refused is not None:
                raise refused(NOT_DONE, input_sent=True) from fault
            raise MalformedRead(f"native {fault.action}") from fault

    async def _is_gone(self) -> bool:
        """Whether the tab is gone. The child may know before we do; Chrome answers this without the page."""
        with suppress(CdpClosed, CdpError, CdpTimeout):
            await self._cdp.send("Target.getTargetInfo", timeout_s=ALIVE_S)
        return self.lost.is_set() or self._cdp.closed.is_set()

    def _on_closed(self) -> None:
        if not self._child.ending:  # then each command tells by itself why
            super()._on_closed()

    async def _gone(self, sent: bool | None) -> PageGone | DriverGone:
        """As every page; a dead browser ends the child too, and a child that is ended takes the browser along."""
        if self._child.ending:
            return DriverGone(BROWSER_ENDED, input_sent=sent)
        gone = await super()._gone(sent)
        if isinstance(gone, DriverGone):
            await self._child.abort()
        return gone
