"""One observation: the AX or text read and the DOM read of a single document, or a refusal.

Nonce, read, nonce, DOM read, nonce. If any two of the nonces differ, the document was replaced in between and nothing
of either read is given out (ADR-0124).
"""

import secrets
import string
import time
from dataclasses import replace
from typing import Literal

from observe import limits
from observe.errors import DocumentReplaced, MalformedRead
from observe.model import ActionRef, AxText, Observation, PageText, ReadCost, Stamp
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
    *,
    joined: bool = False,
) -> Observation:
    """Observe `page`; `body` says which read goes with the action refs, `filled` how much of a tree is needed.

    `joined`: each ref also has the id of its element, by which it is found in the tree.

    Raises:
        DocumentReplaced: the main frame's document changed meanwhile. No ref of any observation is valid then.
        Refusal: page or driver is gone, a dialog is open, or a bound was reached.
        MalformedRead: the driver answered in an unknown form.
    """
    stamp = new_stamp() if stamp is None else stamp
    start = time.perf_counter()
    document = await page.document_nonce()
    ax: AxText | None = None
    page_text: PageText | None = None
    before_read = time.perf_counter()
    if body == "ax":
        ax = await page.read_ax(filled)
    else:
        page_text = await page.read_text()
    read_ms = (time.perf_counter() - before_read) * 1000
    await _same(page, document)
    before_dom = time.perf_counter()
    dom = await page.read_dom(stamp, counted=filled is None)
    refs = await _with_elements(page, stamp, dom.refs) if joined else dom.refs
    dom_ms = (time.perf_counter() - before_dom) * 1000
    if dom.document != document:
        raise DocumentReplaced(REPLACED)
    await _same(page, document)
    return Observation(
        stamp=stamp,
        document=document,
        url=dom.url,
        title=dom.title,
        refs=refs,
        refs_total=dom.total,
        ax=ax,
        page_text=page_text,
        cost=ReadCost(
            ax_ms=read_ms if body == "ax" else None,
            text_ms=read_ms if body == "text" else None,
            dom_ms=dom_ms,
            total_ms=(time.perf_counter() - start) * 1000,
        ),
    )


async def _with_elements(page: ReadablePage, stamp: Stamp, refs: tuple[ActionRef, ...]) -> tuple[ActionRef, ...]:
    elements = await page.read_elements(stamp)
    if len(elements) != len(refs):
        raise MalformedRead("elements of the action refs")
    return tuple(replace(ref, element=element) for ref, element in zip(refs, elements, strict=True))


async def _same(page: ReadablePage, document: str) -> None:
    if await page.document_nonce() != document:
        raise DocumentReplaced(REPLACED)
