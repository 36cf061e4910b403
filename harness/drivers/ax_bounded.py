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

from harness.drivers.ax_plan import Plan, single, subtree, whole_is_cheaper
from harness.drivers.ax_read import AX_TIMEOUT_S, FRAME_TREE, AxReader, FramesBelow, has_frames
from harness.drivers.cdp import Answer, CdpConnection, CdpError, CdpTimeout, Command, answered
from harness.drivers.page_script import REPLACED, SCRIPT_TIMEOUT_S, PageScript
from observe.ax import AxFrame, Beginning, RawNode, read_beginning, write_native
from observe.dom import decode_dom, decode_nonce
from observe.errors import DocumentReplaced
from observe.model import AxText, Reads, Stamp
from observe.page import Filled

GROWTH = 1.5
"""A document that was read whole is counted anew once it has this many times the elements that it had."""

FIRST_CHARS = 11_000
"""Guessed characters of the first batch: somewhat more, then, is written than the 12,000 that are shown."""

SPARE = 1.2
"""Part of the page that follows is taken to show less than what came before."""

LEAST_FILLED = 0.1
"""What shows next to nothing tells nothing of what follows: a batch is at most ten times what is known."""

MOST_FILLED = 10.0
"""What shows this many times what is wanted was one node with a long text: no measure for the next read."""

MARGIN = 1.04
"""So much more than what was enough is asked for in the next read of the same document."""

LEAST_CHARS = 800
"""Guessed characters that are worth one more batch."""

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
    """Reads the beginning of one tab's tree; `full` reads all of it, and the frames inside. `used`: it has done so.

    From the first read on Chrome keeps the tree of the document that is shown, and answers from it at once.
    """

    def __init__(self, cdp: CdpConnection, script: PageScript, full: AxReader) -> None:
        self._cdp = cdp
        self._script = script
        self._full = full
        self.used = False
        self._kept = False
        self._small: tuple[str, float] | None = None  # a document that is read whole up to so many elements
        self._known: tuple[str | None, int] = (None, FIRST_CHARS)  # a document, and its first batch as it should be

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
        read = await self._read(filled, _Closing("observe", (stamp.nonce, False, 0)))
        dom = decode_dom(read.closed, stamp)
        if dom.document != read.document:
            raise DocumentReplaced(REPLACED)
        end = time.perf_counter()
        ax_ms, dom_ms = (read.tree_at - start) * 1000, (end - read.tree_at) * 1000
        return Reads(ax=read.ax, dom=dom, ax_ms=ax_ms, dom_ms=dom_ms)

    async def warm(self) -> None:
        """Have Chrome make the tree of a document that has loaded, for a read that comes later.

        Raises:
            CdpError, DocumentReplaced: the document went away meanwhile.
            CdpTimeout: no answer in time.
        """
        await self._script.install()
        await self._keep()
        self._decide(*await self._script.call("measure", FIRST_CHARS, MOST_OF_SUBTREE))
        await self._cdp.send("Accessibility.getRootAXNode", timeout_s=AX_TIMEOUT_S)

    def _decide(self, elements: int, nodes: int, calls: int) -> None:
        """Whether the document that is there now is read whole, or these nodes of it by so many calls."""
        self._small = None
        if (document := self._script.document) is not None and whole_is_cheaper(elements, nodes, calls):
            self._small = (document, elements * GROWTH)

    async def let_go(self) -> None:
        """Have Chrome keep no tree: of a document that loads it would be made anew with each part that arrives."""
        if self._kept:
            self._kept = False
            await self._cdp.post([Command("Accessibility.disable", {})])

    async def _keep(self) -> None:
        if not self._kept:
            self._kept = True
            await self._cdp.post([Command("Accessibility.enable", {})])

    async def _read(self, filled: Filled, closing: _Closing) -> _Read:
        self.used = True
        await self._keep()
        if self._small is not None and self._small[0] == self._script.document:
            read = await self._whole(closing)
            if read is not None:
                return read
        try:
            plan = await self._plan()
            if self._small is not None:
                read = await self._whole(closing)
            else:
                reading = _Reading(self._cdp, self._script, self._full, self._known[1])
                read = await reading.read(plan, filled, closing) or await self._whole(closing)
                self._known = (self._known[0], reading.enough)
        finally:
            await self._script.release()
        if read is None:
            raise DocumentReplaced(REPLACED)
        return read

    async def _plan(self) -> Plan:
        """What to ask for first of the document that is there now."""
        for _ in range(_TRIES):
            with suppress(CdpError):
                await self._script.install()
                document = self._script.document
                if self._known[0] != document:
                    self._known = (document, FIRST_CHARS)
                plan = Plan(*await self._script.handles("plan", True, self._known[1], MOST_OF_SUBTREE))
                self._decide(plan.elements, plan.nodes, len(plan.roots))
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
        if self._small is not None and elements > self._small[1]:
            self._small = None
        ax = await self._full.joined(whole, targets)
        tree_at = time.perf_counter()
        value = script.result(closing.name, *await answered([closed], SCRIPT_TIMEOUT_S)).get("value")
        if has_frames(*await answered([whole[-1], targets])):
            await _still(script, document)
        return _Read(ax, document, value, tree_at)


async def _still(script: PageScript, document: str) -> None:
    """What was asked for behind the closing function is of the same document too, or is refused."""
    if decode_nonce(await script.call("nonce")) != document:
        raise DocumentReplaced(REPLACED)


class _Reading:
    """One read of a part: what is known of the document so far, by node id."""

    def __init__(self, cdp: CdpConnection, script: PageScript, full: AxReader, asked: int) -> None:
        self._cdp = cdp
        self._script = script
        self._full = full
        self._asked = asked  # guessed characters
        self.enough = asked
        """What would have been enough, as far as it is known."""
        self._nodes: dict[str, RawNode] = {}
        self._children: dict[int, AxFrame | None] = {}
        self._all_planned = False

    async def read(self, plan: Plan, filled: Filled, closing: _Closing) -> _Read | None:
        """The beginning; None where only the whole tree helps."""
        last = self._script.command(closing.name, *closing.arguments)
        targets = await self._full.targets()
        *subtrees, tree, closed = await self._cdp.post([*plan.commands(), FRAME_TREE, last])
        await self._take(subtrees, plan)
        below = await answered([tree, targets])
        frames = await self._full.frames(*below)
        found, asked_again = await self._up_to(filled, frames)
        if found is None:
            return None
        ax = AxText(source="tree", text=write_native(found.nodes), nodes=found.nodes, complete=not found.gaps)
        tree_at = time.perf_counter()
        value = self._script.result(closing.name, *await answered([closed], SCRIPT_TIMEOUT_S)).get("value")
        if asked_again or has_frames(*below):
            await _still(self._script, plan.document)
        return _Read(ax, plan.document, value, tree_at)

    async def _up_to(self, filled: Filled, frames: FramesBelow) -> tuple[Beginning | None, bool]:
        """The beginning, and whether more had to be asked for than the first batch."""
        repairs, again = 0, False
        while True:
            await frames.read_in(self._nodes.values(), self._children)
            found = read_beginning(AxFrame(nodes=tuple(self._nodes.values()), children=self._children, partial=True))
            share = filled(found.nodes)
            if LEAST_FILLED < share < MOST_FILLED:
                self.enough = int(self._asked * MARGIN / share)
            if not found.gaps or (share >= 1 and found.certain):
                return found, again
            again = True
            if share < 1 and not self._all_planned and await self._is_next(found.gaps[0]):
                more = int(self._asked * (SPARE / max(share, LEAST_FILLED) - 1)) + LEAST_CHARS
                await self._batch(more)
                self._asked += more
                continue
            repairs += 1
            if repairs > MOST_REPAIRS or not await self._repaired(found.gaps, whole=share < 1):
                return None, again

    async def _batch(self, size: int) -> None:
        """Ask for what the script plans next."""
        plan = Plan(*await self._script.handles("plan", False, size, MOST_OF_SUBTREE))
        await self._take(await self._cdp.post(plan.commands()), plan)

    async def _is_next(self, gap: str) -> bool:
        """Whether the plan comes to this node soon."""
        planned = await self._script.call_on("planned", int(gap)) if gap.isdecimal() else None
        return isinstance(planned, int) and planned <= NEAR

    async def _repaired(self, gaps: Sequence[str], *, whole: bool) -> bool:
        """Ask for missing nodes by their ids: all of the first, or each by itself. False: that gave nothing new."""
        before = len(self._nodes)
        known = [{"backendNodeId": int(gap)} for gap in gaps if gap.isdecimal()]
        commands = [*(subtree(each) for each in known[:1] if whole), *(single(each) for each in known)]
        await self._take(await self._cdp.post(commands), None)
        return len(self._nodes) > before

    async def _take(self, answers: list[Answer], plan: Plan | None) -> None:
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
