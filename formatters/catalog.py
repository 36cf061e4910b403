"""Name -> formatter; the only registry here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from formatters import conservative, inline, structured
from formatters.conservative import Compacted
from formatters.errors import MissingRead, NotNativeFormatter, UnknownFormatter
from formatters.escape import encodable
from formatters.page_text import format_page_text
from formatters.paging import Whole
from formatters.structured import EMPTY_PAGE
from observe.limits import MAX_AX_CHARS
from observe.model import ActionRef, AxNode, Observation
from observe.page import Filled

Need = Literal["native", "tree", "text"]
"""The read that a formatter works on: AX text, AX nodes, visible text."""

NativeRule = Callable[[str], Compacted]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The formatted read. `label` heads its fence; `verbatim`: it may hold lines that look like nodes.

    `left` are the refs that the text does not show; None: it shows none, and they stand before it.
    """

    label: Literal["AX text", "Page text"]
    whole: Whole
    verbatim: bool
    rules: dict[str, int]
    left: tuple[ActionRef, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatter:
    """One way to show an observation. `function` raises MissingRead where the observation lacks the read it needs.

    `filled` says of the first nodes of a tree how much of the bound they fill; None: the formatter needs the whole.
    `joined`: the refs must have the ids of their elements. Not `paged`: what it shows of a document has no further
    pages, as the refs in its lines are those of one observation.
    """

    name: str
    needs: Need
    function: Callable[[Observation], Body]
    filled: Filled | None = None
    joined: bool = False
    paged: bool = True


def get(name: str) -> Formatter:
    """The formatter of that name.

    Raises: UnknownFormatter, which names those there are.
    """
    formatter = FORMATTERS.get(name)
    if formatter is None:
        raise UnknownFormatter(f"no formatter is called {name!r}; there are {', '.join(FORMATTERS)}")
    return formatter


def native_rule(name: str) -> NativeRule:
    """What the formatter of that name does to native text, before the bound.

    Raises: UnknownFormatter; NotNativeFormatter where it works on another read.
    """
    get(name)
    rule = _NATIVE_RULES.get(name)
    if rule is None:
        known = ", ".join(_NATIVE_RULES)
        raise NotNativeFormatter(f"the formatter {name!r} does not take native snapshot text; these do: {known}")
    return rule


def ax_body(compacted: Compacted, *, complete: bool = True) -> Body:
    """Compacted AX text with its bound; not `complete`: it is only the beginning of the page's."""
    whole = Whole(text=compacted.text, limit=MAX_AX_CHARS, label="AX text", complete=complete)
    return Body(label="AX text", whole=whole, verbatim=compacted.verbatim, rules=compacted.rules)


def _conservative(observation: Observation) -> Body:
    return ax_body(conservative.compact(_native_text(observation, "conservative")))


def _verbatim(observation: Observation) -> Body:
    return ax_body(conservative.verbatim(_native_text(observation, "verbatim")))


def _structured(observation: Observation) -> Body:
    nodes, complete = _tree(observation, "structured")
    return ax_body(structured.compact(nodes), complete=complete)


def _structured_filled(nodes: Sequence[AxNode]) -> float:
    """The last node does not count: what follows it may change it."""
    return (len(structured.compact(nodes[:-1]).text) - 1) / MAX_AX_CHARS if len(nodes) > 1 else 0.0


def _inline(observation: Observation) -> Body:
    nodes, complete = _tree(observation, "inline")
    inlined = inline.inline(nodes, observation.refs, complete=complete)
    text = "\n".join(inlined.lines) or EMPTY_PAGE
    whole = Whole(text=text, limit=MAX_AX_CHARS, label="AX text", complete=complete)
    left = inline.left_out(inlined, observation.refs, whole.first())
    return Body(label="AX text", whole=whole, verbatim=False, rules=inlined.rules, left=left)


def _inline_filled(nodes: Sequence[AxNode]) -> float:
    """Refs only add to what the nodes say. The last line does not count."""
    lines = inline.inline(nodes, (), complete=False).lines
    return sum(len(line) + 1 for line in lines) / MAX_AX_CHARS


def _tree(observation: Observation, name: str) -> tuple[tuple[AxNode, ...], bool]:
    """The nodes, and whether they are all."""
    if observation.ax is None or observation.ax.nodes is None:
        raise MissingRead(f"the formatter {name!r} needs the AX tree, which this observation has not read")
    return observation.ax.nodes, observation.ax.complete


def _page_text(observation: Observation) -> Body:
    if observation.page_text is None:
        raise MissingRead("the formatter 'page-text' needs the visible text, which this observation has not read")
    return Body(label="Page text", whole=format_page_text(observation.page_text), verbatim=False, rules={})


def _native_text(observation: Observation, name: str) -> str:
    if observation.ax is None:
        raise MissingRead(f"the formatter {name!r} needs the AX text, which this observation has not read")
    return encodable(observation.ax.text)


_NATIVE_RULES: dict[str, NativeRule] = {"conservative": conservative.compact, "verbatim": conservative.verbatim}

FORMATTERS: dict[str, Formatter] = {
    formatter.name: formatter
    for formatter in (
        Formatter(name="conservative", needs="native", function=_conservative),
        Formatter(name="verbatim", needs="native", function=_verbatim),
        Formatter(name="structured", needs="tree", function=_structured, filled=_structured_filled),
        Formatter(name="inline", needs="tree", function=_inline, filled=_inline_filled, joined=True, paged=False),
        Formatter(name="page-text", needs="text", function=_page_text),
    )
}
