"""The beginning of a page's accessibility tree, as far as it is needed: its cost grows with the bound, not the page.

The page script chooses small subtrees in document order. Chrome is asked for all of a batch at once, and for each
element around them singly. The tree is then walked by Chrome's own child ids, so its order and nesting do not depend
on how well the script chose: what it missed (generated content, owned elements) is asked for by its id, and where that
does not help the whole tree is read.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from harness.drivers.ax_read import AX_TIMEOUT_S, FRAME_TREE, AxReader, FramesBelow
from harness.drivers.cdp import Answer, CdpConnection, CdpError, CdpTimeout, Command, Json, answered
from harness.drivers.page_script import REPLACED, SCRIPT_TIMEOUT_S, PageScript
from observe.ax import AxFrame, Beginning, RawNode, read_beginning, write_native
from observe.dom import decode_dom, decode_nonce
from observe.errors import DocumentReplaced
from observe.model import AxText, Reads, Stamp
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


_TRIES = 5
"""A document can be replaced before it was asked for anything; one round trip later there is the next one."""


class _Closing(NamedTuple):
    """A script function that is called behind the tree's read, and its arguments; its answer tells the nonce again."""

    name: str
    arguments: tuple[object, ...] = ()


class _Read(NamedTuple):
    """A tree, the nonce before it, what the closing function said, and when the tree was there; in s of the clock."""

    ax: AxText
    document: str
    closed: Any
    tree_at: float


class BoundedAxReader:
    """Reads the beginning of one tab's tree; `full` reads all of it, and the frames inside."""

    def __init__(self, cdp: CdpConnection, script: PageScript, full: AxReader) -> None:
        self._cdp = cdp
        self._script = script
        self._full = full
        self._small: str | None = None  # the document that was small when it was last counted

    async def read(self, filled: Filled) -> AxText:
        """The snapshot up to where it fills what is shown; all of it, where the page is shorter.

        Raises:
            CdpError, DocumentReplaced: the document went away meanwhile.
            CdpTimeout: no answer in time.
            MalformedRead: the page script's answer is not of the agreed form.
        """
        read = await self._read(filled, _Closing("nonce"))
        if decode_nonce(read.closed) != read.document:
            raise DocumentReplaced(REPLACED)
        return read.ax

    async def read_with_refs(self, filled: Filled, stamp: Stamp) -> Reads:
        """The same, and behind it the action refs: one nonce spans both, and Chrome is not waited for in between.

        Raises: as `read`.
        """
        start = time.perf_counter()
        read = await self._read(filled, _Closing("observe", (stamp.nonce, False)))
        dom = decode_dom(read.closed, stamp)
        if dom.document != read.document:
            raise DocumentReplaced(REPLACED)
        end = time.perf_counter()
        ax_ms, dom_ms = (read.tree_at - start) * 1000, (end - read.tree_at) * 1000
        return Reads(ax=read.ax, dom=dom, ax_ms=ax_ms, dom_ms=dom_ms)

    async def _read(self, filled: Filled, closing: _Closing) -> _Read:
        if self._small is not None and self._small == self._script.document:
            read = await self._whole(closing)
            if read is not None:
                return read
        try:
            plan = await self._plan()
            if self._small is not None:
                read = await self._whole(closing)
            else:
                reading = _Reading(self._cdp, self._script, self._full)
                read = await reading.read(plan, filled, closing) or await self._whole(closing)
        finally:
            await self._script.release()
        if read is None:
            raise DocumentReplaced(REPLACED)
        return read

    async def _plan(self) -> "_Plan":
        """What to ask for first of the document that is there now."""
        for _ in range(_TRIES):
            with suppress(CdpError):
                await self._script.install()
                plan = _Plan(*await self._script.handles("plan", True, FIRST_NODES, MOST_OF_SUBTREE))
                self._small = self._script.document if plan.elements <= SMALL_ELEMENTS else None
                return plan
        raise DocumentReplaced(REPLACED)

    async def _whole(self, closing: _Closing) -> _Read | None:
        """All of the tree, everything asked for at once; None where the document was gone before."""
        script = self._script
        commands = [script.command("count"), *self._full.commands(), script.command(closing.name, *closing.arguments)]
        targets = await self._full.targets()
        opened, *whole, closed = await self._cdp.post(commands)
        try:
            document, elements = script.result("count", *await answered([opened], SCRIPT_TIMEOUT_S))["value"]
        except CdpError:
            return None
        if elements > SMALL_ELEMENTS:
            self._small = None
        ax = await self._full.joined(whole, targets)
        tree_at = time.perf_counter()
        return _Read(
            ax, document, script.result(closing.name, *await answered([closed], SCRIPT_TIMEOUT_S)).get("value"), tree_at
        )


class _Plan:
    """What the script chose: nonce and size of the document, elements around the subtrees, and their roots."""

    def __init__(self, document: str, elements: int, around: int, all_planned: bool, *found: str) -> None:
        self.document = document
        self.elements = elements
        self.all_planned = all_planned
        self.around, self.roots = found[:around], found[around:]

    def commands(self) -> list[Command]:
        """The subtrees first: Chrome collects what is asked of them, and answers it all when it is asked for a single
        node; else it waits until it draws the next frame."""
        return [
            *(_subtree({"objectId": each}) for each in self.roots),
            *(_single({"objectId": each}) for each in self.around),
        ]


def _single(node: Json) -> Command:
    return Command("Accessibility.getPartialAXTree", {**node, "fetchRelatives": False})


def _subtree(node: Json) -> Command:
    return Command("Accessibility.queryAXTree", node)


class _Reading:
    """One read of a part: what is known of the document so far, by node id."""

    def __init__(self, cdp: CdpConnection, script: PageScript, full: AxReader) -> None:
        self._cdp = cdp
        self._script = script
        self._full = full
        self._nodes: dict[str, RawNode] = {}
        self._children: dict[int, AxFrame | None] = {}
        self._all_planned = False

    async def read(self, plan: _Plan, filled: Filled, closing: _Closing) -> _Read | None:
        """The beginning; None where only the whole tree helps."""
        last = self._script.command(closing.name, *closing.arguments)
        targets = await self._full.targets()
        *subtrees, tree, closed = await self._cdp.post([*plan.commands(), FRAME_TREE, last])
        await self._take(subtrees, plan)
        frames = await self._full.frames(*await answered([tree, targets]))
        found, asked_again = await self._up_to(filled, frames)
        if found is None:
            return None
        ax = AxText(source="tree", text=write_native(found.nodes), nodes=found.nodes, complete=not found.gaps)
        tree_at = time.perf_counter()
        value = self._script.result(closing.name, *await answered([closed], SCRIPT_TIMEOUT_S)).get("value")
        if asked_again and decode_nonce(await self._script.call("nonce")) != plan.document:
            raise DocumentReplaced(REPLACED)
        return _Read(ax, plan.document, value, tree_at)

    async def _up_to(self, filled: Filled, frames: FramesBelow) -> tuple[Beginning | None, bool]:
        """The beginning, and whether more had to be asked for than the first batch."""
        asked, repairs, again = FIRST_NODES, 0, False
        while True:
            await frames.read_in(self._nodes.values(), self._children)
            found = read_beginning(AxFrame(nodes=tuple(self._nodes.values()), children=self._children, partial=True))
            share = filled(found.nodes)
            if not found.gaps or (share >= 1 and found.certain):
                return found, again
            again = True
            if share < 1 and not self._all_planned and await self._is_next(found.gaps[0]):
                more = int(asked * (SPARE / max(share, LEAST_FILLED) - 1)) + MOST_OF_SUBTREE
                await self._batch(more)
                asked += more
                continue
            repairs += 1
            if repairs > MOST_REPAIRS or not await self._repaired(found.gaps, whole=share < 1):
                return None, again

    async def _batch(self, size: int) -> None:
        """Ask for what the script plans next."""
        plan = _Plan(*await self._script.handles("plan", False, size, MOST_OF_SUBTREE))
        await self._take(await self._cdp.post(plan.commands()), plan)

    async def _is_next(self, gap: str) -> bool:
        """Whether the plan comes to this node soon."""
        planned = await self._script.call_on("planned", int(gap)) if gap.isdecimal() else None
        return isinstance(planned, int) and planned <= NEAR

    async def _repaired(self, gaps: Sequence[str], *, whole: bool) -> bool:
        """Ask for missing nodes by their ids: all of the first, or each by itself. False: that gave nothing new."""
        before = len(self._nodes)
        known = [{"backendNodeId": int(gap)} for gap in gaps if gap.isdecimal()]
        commands = [_subtree(each) for each in known[:1]] if whole else [_single(each) for each in known]
        await self._take(await self._cdp.post(commands), None)
        return len(self._nodes) > before

    async def _take(self, answers: list[Answer], plan: _Plan | None) -> None:
        if plan is not None:
            self._all_planned = plan.all_planned
        self._script.tie(answers)
        try:
            async with asyncio.timeout(AX_TIMEOUT_S):
                for answer in answers:
                    with suppress(CdpError):  # the page took it away: then it is a gap no more, or one for ever
                        self._nodes.update({node["nodeId"]: node for node in (await answer)["nodes"]})
        except TimeoutError as error:
            raise CdpTimeout("tree") from error
