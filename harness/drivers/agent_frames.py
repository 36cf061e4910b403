"""The frames of a native child's tab: those inside another frame, which it leaves out without a mark, and those of
other processes, for which it waits without end.
"""

import asyncio
from contextlib import suppress

from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
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
    remote = await _remote(browser, target_id)
    inside = await _all_inside(browser, remote)
    local = [frame for frames in (_all_below(tree["frameTree"]), *inside) for frame in frames]
    around = [*(each.get("parentFrameId") for each in remote), *(frame["frame"]["parentId"] for frame in local)]
    return sum(1 for frame in around if frame != target_id)


async def frame_hangs(browser: CdpConnection, target_id: str) -> bool:
    """Whether one of the first MAX_FRAMES of the tab's frames of other processes does not answer within
    FRAME_TIMEOUT_S; False for a dead browser.
    """
    try:
        await _all_inside(browser, await _remote(browser, target_id))
    except CdpTimeout:
        return True
    except (CdpClosed, CdpError):
        return False
    return False


async def _remote(browser: CdpConnection, target_id: str) -> list[Json]:
    targets = await browser.send("Target.getTargets", {"filter": [{"type": "iframe"}]})
    parents = {each["targetId"]: each.get("parentId") for each in targets["targetInfos"]}
    return [each for each in targets["targetInfos"] if _is_below(target_id, each["targetId"], parents)]


async def _all_inside(browser: CdpConnection, remote: list[Json]) -> list[list[Json]]:
    asked = remote[: limits.MAX_FRAMES]
    return await asyncio.gather(*(_inside(browser, each["targetId"]) for each in asked))


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
