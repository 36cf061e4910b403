"""What an observation is made of: frozen data, no behaviour beyond reading it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

TriState = Literal["true", "false", "mixed"]


class AxNode(NamedTuple):
    """One node of the accessibility tree, as it is rendered; a tree is its nodes in document order with their depths.

    Ignored nodes and the document's own root are not in the tree; the first level has depth 0, and a node's depth is at
    most one more than that of the node before it. `attributes` are already in the grammar's words and order
    (`level=2`, `checked=mixed`, `disabled`); `value` is None where the node has none to show. A named tuple, as a
    large page has tens of thousands.

    `element` is DevTools' id of the DOM node; `around` are those of elements between it and its parent in the tree that
    are no nodes themselves, outermost first, at most `limits.MAX_AROUND`. Both are known for the main document alone,
    and none of them is ever shown.
    """

    depth: int
    role: str
    name: str = ""
    value: str | None = None
    attributes: tuple[str, ...] = ()
    element: int | None = None
    around: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AxText:
    """The AX snapshot of one page: native grammar text, and the tree where the driver has one.

    `source` is `native` for text that a native driver wrote, `tree` for text written from `nodes`, which is then not
    None. `text` follows docs/observation.md, section 1. `complete`: it is the whole page; else only its beginning was
    read, of which all but the last node are as in the whole.
    """

    source: Literal["native", "tree"]
    text: str
    nodes: tuple[AxNode, ...] | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """Visible text of the main frame, at most `limits.MAX_TEXT_READ_CHARS`; `chars_total` counts all of it."""

    text: str
    chars_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementState:
    """The optional fields of a ref. None means: does not apply, or is not known. It never means false."""

    value: str | None = None
    value_truncated: Literal[True] | None = None
    name_truncated: Literal[True] | None = None
    checked: TriState | None = None
    disabled: Literal[True] | None = None
    readonly: Literal[True] | None = None
    required: Literal[True] | None = None
    invalid: Literal[True] | None = None
    expanded: TriState | None = None
    selected: TriState | None = None
    pressed: TriState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRef:
    """One element that an action may name. `ref` is `e<tag>_<n>`; `name` has at most 80 code points.

    `element` is DevTools' id of the element, where it was asked for; it is never shown.
    """

    ref: str
    role: str
    name: str
    state: ElementState = field(default_factory=ElementState)
    element: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What marks the elements of one observation: the short tag that a model sees, the long nonce that it does not."""

    tag: str
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DomObservation:
    """The decoded answer of the page script. `refs` are the first 250 of the elements that were asked for.

    `total` counts all of them; None: there are more, and they were not counted. `before`: so many come before `refs`.
    """

    document: str
    url: str
    title: str
    refs: tuple[ActionRef, ...]
    total: int | None
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedElement:
    """What a search sees of an element that qualifies as action ref. `row` is the text of its nearest row, if any."""

    role: str
    name: str
    value: str | None
    row: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedElements:
    """The elements that qualify, in the order of refs; `complete` False: the page has more than are searched."""

    elements: tuple[SearchedElement, ...]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What of a document an observation is about; without it, its beginning.

    `page` counts from 1; its refs are the elements behind the first 250 * (page - 1), or all of them where there are no
    more than 250. `document` is the nonce that the document must have; None: any. With `matches` the refs are those of
    the elements that it holds for, wherever they stand. `joined`: each ref also has the id of its element, by which it
    is found in the tree; not with `matches`.
    """

    page: int = 1
    document: str | None = None
    matches: Callable[[SearchedElement], bool] | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Tree and action refs that one document's nonce spans. `ax_ms` until the tree was there, `dom_ms` from then on."""

    ax: AxText
    dom: DomObservation
    ax_ms: float
    dom_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCost:
    """Milliseconds of the parts of one capture. None: that read was not made. Where Chrome was asked for both at once,
    `dom_ms` is what the action refs took beyond the tree."""

    ax_ms: float | None
    text_ms: float | None
    dom_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One page at one moment. `document` is the nonce of the document that every read saw.

    `ax` or `page_text` is None where the formatter did not ask for that read. `page` says how far on in the document it
    is; `refs_before` elements come before its refs. Of a search `refs_total` counts the elements that match, and
    `all_searched` False says that there are elements which were not looked at.
    """

    stamp: Stamp
    document: str
    url: str
    title: str
    refs: tuple[ActionRef, ...]
    refs_total: int | None
    ax: AxText | None
    page_text: PageText | None
    cost: ReadCost
    page: int = 1
    refs_before: int = 0
    all_searched: bool = True
