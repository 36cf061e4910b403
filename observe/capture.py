"""One observation: the AX or text read and the DOM read of a single document, or a refusal.

Nonce, read, nonce, DOM read, nonce. If any two of the nonces differ, the document was replaced in between and nothing
of either read is given out (ADR-0124). A driver that reads both at once keeps to the same: a nonce before the tree, and
the one that the DOM read saw, which is a single script, behind it; one more where anything was asked for after that.
"""

import asyncio
import secrets
import string
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from observe import limits
from observe.errors import DocumentReplaced, MalformedRead
from observe.model import (
    AxNode,
    AxText,
    DomObservation,
    Observation,
    PageText,
    Part,
    ReadCost,
    SearchedElement,
    SearchedElements,
    Stamp,
)
from observe.page import Filled, ReadablePage

Body = Literal["ax", "text"]

REPLACED = "The page was replaced by another document; observe again."

_TAG_ALPHABET = string.ascii_lowercase + string.digits


def new_stamp() -> Stamp:
    """A tag that no earlier observation is likely to have, and a nonce that no page can guess."""
    tag = "".join(secrets.choice(_TAG_ALPHABET) for _ in range(limits.TAG_CHARS))
    return Stamp(tag=tag, nonce=secrets.token_hex(limits.NONCE_HEX_CHARS // 2))


async def capture(
    page: ReadablePage,
    body: Body,
    stamp: Stamp | None = None,
    filled: Filled | None = None,
    part: Part | None = None,
) -> Observation:
    """Observe `page`; `body` says which read goes with the action refs, `filled` how much of a tree is needed, and
    `part` what of the document it is about. A search reads the whole tree.

    Raises:
        DocumentReplaced: the main frame's document changed meanwhile, or is not the one that `part` goes on with. No
            ref of any observation is valid then.
        Refusal: page or driver is gone, a dialog is open, or a bound was reached.
        MalformedRead: the driver answered in an unknown form.
    """
    stamp = new_stamp() if stamp is None else stamp
    part = Part() if part is None else part
    filled = None if filled is None or part.matches is not None else _up_to(part.page, filled)
    start = time.perf_counter()
    if body == "ax" and filled is not None and part == Part(joined=part.joined):
        reads = await page.read_together(stamp, filled)
        if reads is not None:
            before_ids = time.perf_counter()
            refs = _Refs(await _joined(page, stamp, reads.dom) if part.joined else reads.dom, True)
            dom_ms = reads.dom_ms + _ms_since(before_ids)
            cost = ReadCost(ax_ms=reads.ax_ms, text_ms=None, dom_ms=dom_ms, total_ms=_ms_since(start))
            return _observation(stamp, reads.ax, refs, cost)
    document = await page.document_nonce()
    if part.document not in (None, document):
        raise DocumentReplaced(REPLACED)
    before_read = time.perf_counter()
    read = await page.read_ax(filled) if body == "ax" else await page.read_text()
    read_ms = _ms_since(before_read)
    await _same(page, document)
    before_dom = time.perf_counter()
    refs = await _refs(page, stamp, part, counted=filled is None)
    dom_ms = _ms_since(before_dom)
    if refs.dom.document != document:
        raise DocumentReplaced(REPLACED)
    await _same(page, document)
    ax_ms, text_ms = (read_ms, None) if body == "ax" else (None, read_ms)
    cost = ReadCost(ax_ms=ax_ms, text_ms=text_ms, dom_ms=dom_ms, total_ms=_ms_since(start))
    return _observation(stamp, read, refs, cost, part.page)


def _ms_since(start: float) -> float:
    return (time.perf_counter() - start) * 1000


def _observation(stamp: Stamp, read: AxText | PageText, refs: "_Refs", cost: ReadCost, page: int = 1) -> Observation:
    dom = refs.dom
    return Observation(
        stamp=stamp,
        document=dom.document,
        url=dom.url,
        title=dom.title,
        refs=dom.refs,
        refs_total=dom.total,
        ax=read if isinstance(read, AxText) else None,
        page_text=read if isinstance(read, PageText) else None,
        cost=cost,
        page=page,
        refs_before=dom.before,
        all_searched=refs.all_searched,
    )


class _Refs(NamedTuple):
    dom: DomObservation
    all_searched: bool


async def _refs(page: ReadablePage, stamp: Stamp, part: Part, *, counted: bool) -> _Refs:
    if part.matches is None:
        before = (part.page - 1) * limits.MAX_REFS
        dom = await page.read_dom(stamp, counted=counted, before=before)
        return _Refs(await _joined(page, stamp, dom) if part.joined else dom, True)
    read = await page.read_elements()
    matching = await asyncio.to_thread(_matching, read, part.matches)  # a bot's pattern may take long
    dom = await page.read_chosen(stamp, matching[: limits.MAX_REFS])
    return _Refs(replace(dom, total=len(matching)), read.complete)


def _matching(read: SearchedElements, matches: Callable[[SearchedElement], bool]) -> list[int]:
    return [place for place, element in enumerate(read.elements) if matches(element)]


def _up_to(page: int, filled: Filled) -> Filled:
    """How much of the first pages is filled. Each of them may hold one character more: the line break at its cut."""
    needed = page if page == 1 else page * (limits.MAX_AX_CHARS + 1) / limits.MAX_AX_CHARS

    def share(nodes: Sequence[AxNode]) -> float:
        return filled(nodes) / needed

    return share


async def _joined(page: ReadablePage, stamp: Stamp, dom: DomObservation) -> DomObservation:
    ids = await page.read_ids(stamp)
    if len(ids) != len(dom.refs):
        raise MalformedRead("ids of the action refs' elements")
    return replace(dom, refs=tuple(replace(ref, element=one) for ref, one in zip(dom.refs, ids, strict=True)))


async def _same(page: ReadablePage, document: str) -> None:
    if await page.document_nonce() != document:
        raise DocumentReplaced(REPLACED)
