"""The full accessibility tree of one tab over CDP, child frames of the same and of other processes joined in place.

Frames of other processes are attached to when they are first read, and not automatically: two clients that attach
automatically, as Playwright does too, now and then leave a nested frame waiting for its debugger for ever.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.drivers.cdp import (
    Answer,
    CdpClosed,
    CdpConnection,
    CdpError,
    CdpTimeout,
    Command,
    Json,
    answered,
)
from observe import limits
from observe.ax import AxFrame, RawNode, read_tree, write_native
from observe.model import AxText

AX_TIMEOUT_S = 60.0
"""A tree of 50,000 nodes takes up to 8 s on a loaded machine."""

FRAME_TIMEOUT_S = 10.0
"""A child frame that does not answer is marked as not read, instead of losing the page with it."""

_IFRAMES_ONLY = [{"type": "iframe"}]

FRAME_TREE = Command("Page.getFrameTree", {})
"""Which frames the tab's own process holds."""


class _Process(NamedTuple):
    """Where the documents of one target are spoken to."""

    target_id: str
    cdp: CdpConnection
    session: str | None

    async def send(self, method: str, params: Json | None = None, timeout_s: float = FRAME_TIMEOUT_S) -> Json:
        return await self.cdp.send(method, params, session=self.session, timeout_s=timeout_s)


@dataclass(slots=True)
class _Remote:
    """Frames in other processes, by the target that holds them; `left` counts down the frames that may be read."""

    below: dict[str, list[str]]
    left: int = field(default=limits.MAX_FRAMES)


class AxReader:
    """Reads the tree of one tab. `browser` is a connection to the whole browser, for frames of other processes."""

    def __init__(self, cdp: CdpConnection, browser: CdpConnection, target_id: str) -> None:
        self._top = _Process(target_id, cdp, None)
        self._browser = browser
        self._sessions: dict[str, str] = {}  # frame's target id -> session

    async def stop(self) -> None:
        """Detach from the frames of other processes."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            with suppress(CdpClosed, CdpError, CdpTimeout):  # the frame or the browser may be gone
                await self._browser.send("Target.detachFromTarget", {"sessionId": session})

    async def read(self) -> AxText:
        """The snapshot of the whole page.

        Raises:
            CdpError: the main document went away meanwhile.
            CdpTimeout: no answer within AX_TIMEOUT_S.
        """
        return await self.joined(await self._top.cdp.post(self.commands()), await self.targets())

    def commands(self) -> list[Command]:
        """What is asked of the tab for the whole of it; `joined` takes the answers."""
        return [Command("Accessibility.getFullAXTree", {}), FRAME_TREE]

    async def targets(self) -> Answer:
        """Ask which frames other processes hold."""
        (answer,) = await self._browser.post([Command("Target.getTargets", {"filter": _IFRAMES_ONLY})])
        return answer

    async def joined(self, whole: Sequence[Answer], targets: Answer) -> AxText:
        """The snapshot, from the answers to `commands` and `targets`.

        Raises: as `read`.
        """
        top, tree = await answered(whole, AX_TIMEOUT_S)
        (processes,) = await answered([targets])
        remote = _Remote(below=_by_parent(processes["targetInfos"]))
        nodes = read_tree(await self._joined(self._top, top, tree, remote))
        return AxText(source="tree", text=write_native(nodes), nodes=nodes)

    async def frames(self, tree: Json, targets: Json) -> "FramesBelow":
        """Which frames the tab has, by the answers to FRAME_TREE and `targets`, and which elements hold them; none of
        them is read yet."""
        remote = _Remote(below=_by_parent(targets["targetInfos"]))
        wanted = (_frames_below(tree["frameTree"]) + remote.below.get(self._top.target_id, []))[: remote.left]
        remote.left -= len(wanted)
        owners = await asyncio.gather(*(self._owner(frame) for frame in wanted))
        held = {owner: frame for owner, frame in zip(owners, wanted, strict=True) if owner is not None}
        return FramesBelow(self, held, remote)

    async def _owner(self, frame: str) -> int | None:
        try:
            return int((await self._top.send("DOM.getFrameOwner", {"frameId": frame}))["backendNodeId"])
        except (CdpError, CdpTimeout):
            return None

    async def _joined(self, process: _Process, top: Json, tree: Json, remote: _Remote) -> AxFrame:
        """The frames that one process holds and those below them. All its documents share one map of owners, as
        Chrome counts nodes by process."""
        local = _frames_below(tree["frameTree"])
        wanted = (local + remote.below.get(process.target_id, []))[: max(remote.left, 0)]
        remote.left -= len(wanted)
        children: dict[int, AxFrame | None] = {}
        read = await asyncio.gather(*(self._read_frame(frame, process, children, remote) for frame in wanted))
        children.update({owner: frame for owner, frame in read if owner is not None})
        return AxFrame(nodes=top["nodes"], children=children)

    async def _read_frame(
        self, frame: str, process: _Process, siblings: dict[int, AxFrame | None], remote: _Remote
    ) -> tuple[int | None, AxFrame | None]:
        """The element that holds a frame, and what is in it; None where either could not be read."""
        owner: int | None = None
        try:
            owner = (await process.send("DOM.getFrameOwner", {"frameId": frame}))["backendNodeId"]
            if frame in remote.below.get(process.target_id, ()):
                own = await self._attached(frame)
                inside, tree = await asyncio.gather(
                    own.send("Accessibility.getFullAXTree"), own.send("Page.getFrameTree")
                )
                return owner, await self._joined(own, inside, tree, remote)
            inside = await process.send("Accessibility.getFullAXTree", {"frameId": frame})
            return owner, AxFrame(nodes=inside["nodes"], children=siblings)
        except (CdpError, CdpTimeout):
            self._sessions.pop(frame, None)
            return owner, None

    async def _attached(self, frame: str) -> _Process:
        if frame not in self._sessions:
            answer = await self._browser.send("Target.attachToTarget", {"targetId": frame, "flatten": True})
            self._sessions[frame] = answer["sessionId"]
        return _Process(frame, self._browser, self._sessions[frame])


@dataclass(slots=True)
class FramesBelow:
    """The frames of one tab by the element that holds them; read as soon as that element is."""

    reader: AxReader
    held: dict[int, str]
    remote: _Remote

    async def read_in(self, nodes: Iterable[RawNode], children: dict[int, AxFrame | None]) -> None:
        """Read the frames that stand in these nodes, and those inside of them, into `children`."""
        seen = nodes
        while self.held:
            owners = [owner for node in seen if (owner := node.get("backendDOMNodeId")) in self.held]
            if not owners:
                return
            wanted = [self.held.pop(owner) for owner in dict.fromkeys(owners)]
            read = await asyncio.gather(
                *(self.reader._read_frame(frame, self.reader._top, children, self.remote) for frame in wanted)
            )
            children.update({owner: frame for owner, frame in read if owner is not None})
            seen = [node for _, frame in read if frame is not None for node in frame.nodes]


def has_frames(tree: Json, targets: Json) -> bool:
    """Whether there is any frame, by the answers to FRAME_TREE and `targets`; those of other tabs may count too."""
    return bool(tree["frameTree"].get("childFrames") or targets["targetInfos"])


def _by_parent(targets: list[Json]) -> dict[str, list[str]]:
    below: dict[str, list[str]] = {}
    for target in targets:
        if (parent := target.get("parentId")) is not None:
            below.setdefault(parent, []).append(target["targetId"])
    return below


def _frames_below(tree: Json) -> list[str]:
    """Ids of the child frames in the same process, in document order level by level."""
    found: list[str] = []
    level = list(tree.get("childFrames", ()))
    while level:
        found.extend(child["frame"]["id"] for child in level)
        level = [below for child in level for below in child.get("childFrames", ())]
    return found
