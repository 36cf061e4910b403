"""The full accessibility tree of one tab over CDP, child frames of the same and of other processes joined in place."""

import asyncio
from contextlib import suppress
from typing import Any

from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
from observe import limits
from observe.ax import AxFrame, read_tree, write_native
from observe.model import AxText

AX_TIMEOUT_S = 60.0
"""A tree of 50,000 nodes takes up to 8 s on a loaded machine."""

FRAME_TIMEOUT_S = 10.0
"""A child frame that does not answer is marked as not read, instead of losing the page with it."""

_IFRAMES_ONLY = [{"type": "iframe"}]


class AxReader:
    """Reads the tree of one tab. Keeps the sessions of its frames in other processes, at any depth."""

    def __init__(self, cdp: CdpConnection) -> None:
        self._cdp = cdp
        self._sessions: dict[str, str] = {}  # frame id -> session
        self._parents: dict[str, str | None] = {}  # session -> session that it was attached from
        self._attaching: set[asyncio.Task[None]] = set()
        cdp.on("Target.attachedToTarget", self._on_attached)
        cdp.on("Target.detachedFromTarget", self._on_detached)

    async def start(self) -> None:
        """Ask for a session of each frame in another process, those that come later included."""
        await self._attach_below(None)

    async def _attach_below(self, session: str | None) -> None:
        parameters = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": _IFRAMES_ONLY}
        await self._cdp.send("Target.setAutoAttach", parameters, session=session)

    def _on_attached(self, params: Json, parent: str | None) -> None:
        session = params["sessionId"]
        self._sessions[params["targetInfo"]["targetId"]] = session
        self._parents[session] = parent
        task = asyncio.create_task(self._attach_quietly(session))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    async def _attach_quietly(self, session: str) -> None:
        # A frame that went away again has no session; its content will be marked as not read.
        with suppress(CdpClosed, CdpError, CdpTimeout):
            await self._attach_below(session)

    def _on_detached(self, params: Json, _parent: str | None) -> None:
        gone = params["sessionId"]
        self._parents.pop(gone, None)
        self._sessions = {frame: session for frame, session in self._sessions.items() if session != gone}

    async def stop(self) -> None:
        """End what is still attaching."""
        for task in tuple(self._attaching):
            task.cancel()
        await asyncio.gather(*self._attaching, return_exceptions=True)

    async def read(self) -> AxText:
        """The snapshot of the whole page.

        Raises:
            CdpError: the main document went away meanwhile.
            CdpTimeout: no answer within AX_TIMEOUT_S.
        """
        await asyncio.gather(*self._attaching, return_exceptions=True)
        nodes = read_tree(await self._read_process(None, [limits.MAX_FRAMES], AX_TIMEOUT_S))
        return AxText(source="tree", text=write_native(nodes), nodes=nodes)

    async def _read_process(self, session: str | None, left: list[int], timeout_s: float) -> AxFrame:
        """The frames that one session can see. `left` counts down the frames that may still be read."""
        top, tree = await asyncio.gather(
            self._cdp.send("Accessibility.getFullAXTree", session=session, timeout_s=timeout_s),
            self._cdp.send("Page.getFrameTree", session=session, timeout_s=timeout_s),
        )
        local = _frames_below(tree["frameTree"])
        remote = [frame for frame, own in self._sessions.items() if self._parents.get(own) == session]
        wanted = (local + [frame for frame in remote if frame not in local])[: max(left[0], 0)]
        left[0] -= len(wanted)
        children: dict[int, AxFrame | None] = {}
        read = await asyncio.gather(*(self._read_frame(frame, session, children, left) for frame in wanted))
        children.update({owner: frame for owner, frame in read if owner is not None})
        return AxFrame(nodes=top["nodes"], children=children)

    async def _read_frame(
        self, frame: str, session: str | None, siblings: dict[int, AxFrame | None], left: list[int]
    ) -> tuple[int | None, AxFrame | None]:
        """The element that holds a frame, and what is in it; None where either could not be read."""
        owner: int | None = None
        try:
            answer = await self._cdp.send(
                "DOM.getFrameOwner", {"frameId": frame}, session=session, timeout_s=FRAME_TIMEOUT_S
            )
            owner = answer["backendNodeId"]
            if (own := self._sessions.get(frame)) is not None:
                return owner, await self._read_process(own, left, FRAME_TIMEOUT_S)
            inside: Any = await self._cdp.send(
                "Accessibility.getFullAXTree", {"frameId": frame}, session=session, timeout_s=FRAME_TIMEOUT_S
            )
            return owner, AxFrame(nodes=inside["nodes"], children=siblings)
        except (CdpError, CdpTimeout):
            return owner, None


def _frames_below(tree: Json) -> list[str]:
    found: list[str] = []
    waiting = list(tree.get("childFrames", ()))
    while waiting:
        child = waiting.pop(0)
        found.append(child["frame"]["id"])
        waiting.extend(child.get("childFrames", ()))
    return found
