"""The tabs of a browser that have no page of the driver `agent-browser`: popups, and what somebody else opens.

Each child attaches to every tab, and before a command's answer waits up to 30 s for one that does not answer: whose
server has not sent it yet, whose script never ends, or in which a native dialog is open.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress

from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json

_FAULTS = (CdpClosed, CdpError, CdpTimeout)

ANSWER_S = 2.0
"""Seconds in which a tab that is not held up answers."""

_LISTENS_S = 120.0
"""Seconds that a new tab is waited for, to hear of its dialogs; its server may be slow."""

_EVERY_TAB: Json = {
    "autoAttach": True,
    "waitForDebuggerOnStart": True,
    "flatten": True,
    "filter": [{"type": "page"}],
}
_PARTS: Json = {"filter": [{"type": "page"}, {"type": "iframe"}]}


class OtherTabs:
    """Answers the native dialogs that nobody else could answer: as Playwright does, it accepts an alert and a page's
    wish to stay, and dismisses everything else.
    """

    def __init__(self, browser: CdpConnection) -> None:
        self._browser = browser
        self._own: set[str] = set()
        self._sessions: dict[str, str] = {}  # with their tabs
        self._running: set[asyncio.Task[None]] = set()
        browser.on("Target.attachedToTarget", self._on_attached)
        browser.on("Target.detachedFromTarget", self._on_detached)
        browser.on("Page.javascriptDialogOpening", self._on_dialog)

    async def silent(self) -> bool:
        """Whether a tab or a frame of another process does not answer within ANSWER_S; False for a dead browser."""
        try:
            found = await self._browser.send("Target.getTargets", _PARTS, timeout_s=ANSWER_S)
        except _FAULTS:
            return False
        answers = [self._answers(each["targetId"]) for each in found["targetInfos"]]
        return not all(await asyncio.gather(*answers))

    async def _answers(self, target_id: str) -> bool:
        try:
            session = await self._attach(target_id)
        except _FAULTS:
            return True  # it is gone
        try:
            await self._browser.send("Page.enable", session=session, timeout_s=ANSWER_S)
        except CdpTimeout:
            return False
        except (CdpClosed, CdpError):
            return True
        finally:
            await self._leave(session)
        return True

    async def own(self, target_id: str) -> None:
        """The tab has a page from now on, which answers its dialogs itself."""
        self._own.add(target_id)
        for session in [session for session, tab in self._sessions.items() if tab == target_id]:
            await self._leave(session)

    def _on_attached(self, params: Json, _session: str | None) -> None:
        session, tab = params["sessionId"], params["targetInfo"]["targetId"]
        if tab in self._own or not params["waitingForDebugger"]:
            return
        self._sessions[session] = tab
        self._start(self._listen(session))

    async def _listen(self, session: str) -> None:
        """A new tab's first script, and the one that opens it, wait until its dialogs would be heard of."""
        listening = self._browser.send("Page.enable", session=session, timeout_s=_LISTENS_S)
        running = self._browser.send("Runtime.runIfWaitingForDebugger", session=session, timeout_s=_LISTENS_S)
        await asyncio.gather(listening, running, return_exceptions=True)

    async def _leave(self, session: str) -> None:
        self._sessions.pop(session, None)
        with suppress(*_FAULTS):
            await self._browser.send("Target.detachFromTarget", {"sessionId": session}, timeout_s=ANSWER_S)

    async def _attach(self, target_id: str) -> str:
        given = {"targetId": target_id, "flatten": True}
        attached = await self._browser.send("Target.attachToTarget", given, timeout_s=ANSWER_S)
        return str(attached["sessionId"])

    def _on_detached(self, params: Json, _session: str | None) -> None:
        self._sessions.pop(params.get("sessionId", ""), None)

    def _on_dialog(self, params: Json, session: str | None) -> None:
        if session is not None and session in self._sessions:
            self._start(self._answer(session, params["type"] in ("alert", "beforeunload")))

    async def _answer(self, session: str, accept: bool) -> None:
        with suppress(*_FAULTS):  # the tab may be gone, or somebody has answered
            await self._browser.send("Page.handleJavaScriptDialog", {"accept": accept}, session=session)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def stop(self) -> None:
        """End what still runs."""
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


@asynccontextmanager
async def other_tabs(browser: CdpConnection) -> AsyncIterator[OtherTabs]:
    """Listening to the browser's tabs.

    Raises:
        CdpClosed, CdpError, CdpTimeout: the browser does not answer.
    """
    tabs = OtherTabs(browser)
    try:
        await browser.send("Target.setAutoAttach", _EVERY_TAB)
        yield tabs
    finally:
        await tabs.stop()
