"""The frames that a native child leaves out without a mark: those that stand in another frame."""

from harness.drivers.cdp import CdpConnection, Json


async def frames_in_frames(cdp: CdpConnection, browser: CdpConnection, target_id: str) -> int:
    """How many frames of the tab stand in another frame, of the same process or of others.

    Raises:
        CdpClosed, CdpError, CdpTimeout: tab or browser do not answer.
    """
    tree = await cdp.send("Page.getFrameTree")
    local = [child for frame in tree["frameTree"].get("childFrames", ()) for child in _all_below(frame)]
    targets = await browser.send("Target.getTargets", {"filter": [{"type": "iframe"}]})
    parents = {each["targetId"]: each.get("parentId") for each in targets["targetInfos"]}
    inner = [frame for frame, parent in parents.items() if parent != target_id]
    return len(local) + sum(1 for frame in inner if _is_below(target_id, frame, parents))


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
