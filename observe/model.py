"""What an observation is made of: frozen data, no behaviour beyond reading it."""

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
    """The decoded answer of the page script. `refs` are the first 250 of the elements that qualify.

    `total` counts all of them; None: there are more than 250, and they were not counted.
    """

    document: str
    url: str
    title: str
    refs: tuple[ActionRef, ...]
    total: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCost:
    """Milliseconds of the parts of one capture. None: that read was not made."""

    ax_ms: float | None
    text_ms: float | None
    dom_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One page at one moment. `document` is the nonce of the document that every read saw.

    `ax` or `page_text` is None where the formatter did not ask for that read.
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
