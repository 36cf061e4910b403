"""The frames that a native child leaves out without a mark: those that stand in another frame."""

import asyncio
from contextlib import suppress

from harness.drivers.cdp import CdpConnection, CdpError, Json
from observe import limits

FRAME_TIMEOUT_S = 5.0
"""The child waits without end for a frame of another process that does not answer: it must not be asked then."""


async def frames_in_frames(cdp: CdpConnection, browser: CdpConnection, target_id: str) -> int:
    """How many frames of the tab stand in another frame, of the same process or of others. Of the frames of other
    processes MAX_FRAMES are asked for those in them.

    Raises:
        CdpClosed, CdpError, CdpTimeout: tab, browser or a frame of another process do not answer.
    """
    tree = await cdp.send("Page.getFrameTree")
    targets = await browser.send("Target.getTargets", {"filter": [{"type": "iframe"}]})
    parents = {each["targetId"]: each.get("parentId") for each in targets["targetInfos"]}
    remote = [each for each in targets["targetInfos"] if _is_below(target_id, each["targetId"], parents)]
    asked = remote[: limits.MAX_FRAMES]
    inside = await asyncio.gather(*(_inside(browser, each["targetId"]) for each in asked))
    local = [frame for frames in (_all_below(tree["frameTree"]), *inside) for frame in frames]
    around = [*(each.get("parentFrameId") for each in remote), *(frame["frame"]["parentId"] for frame in local)]
    return sum(1 for frame in around if frame != target_id)


async def _inside(browser: CdpConnection, frame: str) -> list[Json]:
    """The frames of its own process in a frame of another process."""
    try:
        attached = await browser.send("Target.attachToTarget", {"targetId": frame, "flatten": True})
        session = attached["sessionId"]
        try:
            tree = await browser.send("Page.getFrameTree", session=session, timeout_s=FRAME_TIMEOUT_S)
            return _all_below(tree["frameTree"])
        finally:
            with suppress(CdpError):  # the frame may be gone, and its session with it
                await browser.send("Target.detachFromTarget", {"sessionId": session})
    except CdpError:
        return []


def _is_below(target_id: str, frame: str, parents: dict[str, str | None]) -> bool:
    at: str | None = frame
    for _ in parents:
        at = parents.get(at) if at is not None else None
        if at == target_id:
            return True
    return False


def _all_below(frame: Json) -> list[Json]:
    found: list[Json] = []
    level = list(frame.get("childFrames", ()))
    while level:
        found.extend(level)
        level = [below for child in level for below in child.get("childFrames", ())]
    return found
