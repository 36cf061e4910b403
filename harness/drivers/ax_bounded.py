"""The beginning of a page's accessibility tree, as far as it is needed: its cost grows with the bound, not the page.

The page script chooses small subtrees in document order. Chrome is asked for all of a batch at once, and for each
element around them singly. The tree is then walked by Chrome's own child ids, so its order and nesting do not depend
on how well the script chose: what it missed (generated content, owned elements) is asked for by its id, and where that
does not help the whole tree is read.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from harness.drivers.ax_read import AX_TIMEOUT_S, AxReader
from harness.drivers.cdp import CdpConnection, CdpError, Json
from harness.drivers.page_script import PageScript
from observe.ax import AxFrame, Beginning, RawNode, read_beginning, write_native
from observe.model import AxText
from observe.page import Filled

SMALL_ELEMENTS = 1_000
"""Up to so many elements the whole tree is read as fast as a part of it."""

FIRST_NODES = 400
"""DOM nodes of the first batch: on most pages about what 12,000 characters show. How many follow, that tells."""

SPARE = 1.2
"""Part of the page that follows is taken to show less than what came before."""

LEAST_FILLED = 0.1
"""What shows next to nothing tells nothing of what follows: a batch is at most ten times what is known."""

MOST_OF_SUBTREE = 80
"""DOM nodes that are asked for in one go: an answer of some 100 kB, and few of them beyond the bound."""

NEAR = 50
"""A node that comes later than this many planned ones stands elsewhere in the tree than in the document."""

MOST_REPAIRS = 20
"""Rounds in which missing nodes are asked for by their ids; then the whole tree is read."""


class BoundedAxReader:
    """Reads the beginning of one tab's tree; `full` reads all of it, and the frames inside."""

    def __init__(self, cdp: CdpConnection, script: PageScript, full: AxReader) -> None:
        self._cdp = cdp
        self._script = script
        self._full = full

    async def read(self, filled: Filled) -> AxText:
        """The snapshot up to where it fills what is shown; all of it, where the page is shorter.

        Raises:
            CdpError, DocumentReplaced: the document went away meanwhile.
            CdpTimeout: no answer in time.
        """
        try:
            found = await _Reading(self._cdp, self._script, self._full).read(filled)
        finally:
            await self._script.release()
        if found is None:
            return await self._full.read()
        return AxText(source="tree", text=write_native(found.nodes), nodes=found.nodes, complete=not found.gaps)


class _Reading:
    """One read: what is known of the document so far, by node id."""

    def __init__(self, cdp: CdpConnection, script: PageScript, full: AxReader) -> None:
        self._cdp = cdp
        self._script = script
        self._full = full
        self._nodes: dict[str, RawNode] = {}
        self._children: dict[int, AxFrame | None] = {}
        self._all_planned = False

    async def read(self, filled: Filled) -> Beginning | None:
        """The beginning; None where the whole tree is to be read: the page is small, or only that helps."""
        if not await self._batch(FIRST_NODES, again=True):
            return None
        frames = await self._full.frames()
        asked, repairs = FIRST_NODES, 0
        while True:
            await frames.read_in(self._nodes.values(), self._children)
            found = self._beginning()
            share = filled(found.nodes)
            if not found.gaps or (share >= 1 and found.certain):
                return found
            if share < 1 and not self._all_planned and await self._is_next(found.gaps[0]):
                more = int(asked * (SPARE / max(share, LEAST_FILLED) - 1)) + MOST_OF_SUBTREE
                await self._batch(more, again=False)
                asked += more
                continue
            repairs += 1
            if repairs > MOST_REPAIRS or not await self._repaired(found.gaps, whole=share < 1):
                return None

    def _beginning(self) -> Beginning:
        return read_beginning(AxFrame(nodes=tuple(self._nodes.values()), children=self._children, partial=True))

    async def _batch(self, size: int, *, again: bool) -> bool:
        """Ask for what the script plans next; False: the page is so small that nothing was asked for."""
        planned = await self._script.handles("plan", again, size, MOST_OF_SUBTREE)
        elements, around, self._all_planned, *found = planned
        if again and elements <= SMALL_ELEMENTS:
            return False
        await asyncio.gather(
            *(self._single({"objectId": each}) for each in found[:around]),
            *(self._subtree({"objectId": each}) for each in found[around:]),
        )
        return True

    async def _is_next(self, gap: str) -> bool:
        """Whether the plan comes to this node soon."""
        planned = await self._script.call_on("planned", int(gap)) if gap.isdecimal() else None
        return isinstance(planned, int) and planned <= NEAR

    async def _repaired(self, gaps: Sequence[str], *, whole: bool) -> bool:
        """Ask for missing nodes by their ids: all of the first, or each by itself. False: that gave nothing new."""
        before = len(self._nodes)
        known = [{"backendNodeId": int(gap)} for gap in gaps if gap.isdecimal()]
        if whole:
            await asyncio.gather(*(self._subtree(each) for each in known[:1]))
        else:
            await asyncio.gather(*(self._single(each) for each in known))
        return len(self._nodes) > before

    async def _single(self, node: Json) -> None:
        await self._ask("Accessibility.getPartialAXTree", {**node, "fetchRelatives": False})

    async def _subtree(self, node: Json) -> None:
        await self._ask("Accessibility.queryAXTree", node)

    async def _ask(self, method: str, params: Json) -> None:
        with suppress(CdpError):  # the page took it away meanwhile: then it is a gap no more, or one for ever
            answer = await self._cdp.send(method, params, timeout_s=AX_TIMEOUT_S)
            self._nodes.update({node["nodeId"]: node for node in answer["nodes"]})
