"""One observation: the AX or text read and the DOM read of a single document, or a refusal.

Nonce, read, nonce, DOM read, nonce. If any two of the nonces differ, the document was replaced in between and nothing
of either read is given out (ADR-0124). A driver that reads both at once keeps to the same: a nonce before the tree, and
the one that the DOM read saw, which is a single script, behind it; one more where anything was asked for after that.
"""

import secrets
import string
import time
from typing import Literal

from observe import limits
from observe.errors import DocumentReplaced
from observe.model import AxText, DomObservation, Observation, PageText, ReadCost, Stamp
from observe.page import Filled, ReadablePage

Body = Literal["ax", "text"]

REPLACED = "The page was replaced by another document; observe again."

_TAG_ALPHABET = string.ascii_lowercase + string.digits


def new_stamp() -> Stamp:
    """A tag that no earlier observation is likely to have, and a nonce that no page can guess."""
    tag = "".join(secrets.choice(_TAG_ALPHABET) for _ in range(limits.TAG_CHARS))
    return Stamp(tag=tag, nonce=secrets.token_hex(limits.NONCE_HEX_CHARS // 2))


async def capture(
    page: ReadablePage, body: Body, stamp: Stamp | None = None, filled: Filled | None = None
) -> Observation:
    """Observe `page`; `body` says which read goes with the action refs, `filled` how much of a tree is needed.

    Raises:
        DocumentReplaced: the main frame's document changed meanwhile. No ref of any observation is valid then.
        Refusal: page or driver is gone, a dialog is open, or a bound was reached.
        MalformedRead: the driver answered in an unknown form.
    """
    stamp = new_stamp() if stamp is None else stamp
    start = time.perf_counter()
    if body == "ax" and filled is not None and (reads := await page.read_together(stamp, filled)) is not None:
        cost = ReadCost(ax_ms=reads.ax_ms, text_ms=None, dom_ms=reads.dom_ms, total_ms=_ms_since(start))
        return _observation(stamp, reads.dom, reads.ax, None, cost)
    document = await page.document_nonce()
    ax: AxText | None = None
    page_text: PageText | None = None
    before_read = time.perf_counter()
    if body == "ax":
        ax = await page.read_ax(filled)
    else:
        page_text = await page.read_text()
    read_ms = _ms_since(before_read)
    await _same(page, document)
    before_dom = time.perf_counter()
    dom = await page.read_dom(stamp, counted=filled is None)
    dom_ms = _ms_since(before_dom)
    if dom.document != document:
        raise DocumentReplaced(REPLACED)
    await _same(page, document)
    ax_ms, text_ms = (read_ms, None) if body == "ax" else (None, read_ms)
    cost = ReadCost(ax_ms=ax_ms, text_ms=text_ms, dom_ms=dom_ms, total_ms=_ms_since(start))
    return _observation(stamp, dom, ax, page_text, cost)


def _ms_since(start: float) -> float:
    return (time.perf_counter() - start) * 1000


def _observation(
    stamp: Stamp, dom: DomObservation, ax: AxText | None, page_text: PageText | None, cost: ReadCost
) -> Observation:
    return Observation(
        stamp=stamp,
        document=dom.document,
        url=dom.url,
        title=dom.title,
        refs=dom.refs,
        refs_total=dom.total,
        ax=ax,
        page_text=page_text,
        cost=cost,
    )


async def _same(page: ReadablePage, document: str) -> None:
    if await page.document_nonce() != document:
        raise DocumentReplaced(REPLACED)
