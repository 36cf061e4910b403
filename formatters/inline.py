"""One tree in which the nodes carry their action refs, so that nothing is said twice (docs/observation.md, section 2).

All that a page says stands between quotes, as JSON strings; outside of them are our own words alone. A line is final as
soon as the next one has begun.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import NamedTuple

from formatters.bound import Bounded
from formatters.conservative import SCAFFOLDS
from formatters.escape import json_string
from formatters.placed import Placed, placed
from formatters.refs import in_brackets
from formatters.told import Told, folded, has_words, tell, tell_alone
from observe.model import ActionRef, AxNode

_SCAFFOLDS = SCAFFOLDS | {"list", "rowgroup", "MenuListPopup"}
"""Nodes that say nothing but that something is in them, where they have no name, state or ref."""

_SILENT = frozenset({"ListMarker", "LineBreak"})
"""Leaves of which the form of the text tells enough."""

_PUNCTUATION = frozenset(".,;:")
"""A text of one of these alone, as behind a link, is left out."""

_OWN_WORDS = frozenset(
    {
        "blockquote",
        "caption",
        "cell",
        "code",
        "columnheader",
        "definition",
        "deletion",
        "emphasis",
        "gridcell",
        "insertion",
    }
    | {"mark", "rowheader", "strong", "subscript", "superscript", "term", "time"}
)
"""The first text in one of these stands in the place of the name that it does not have."""

_PICTURES = frozenset({"image", "img"})

_LISTING = frozenset({"combobox", "listbox"})

_OPTION = " | "
"""Before each option that stands on the line of its control."""


@dataclass(slots=True)
class _Line:
    """`more` are the options behind it."""

    start: str
    told: Told
    more: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join((self.start, self.told.line, *self.more))


class _Around(NamedTuple):
    """A node that others may stand below.

    `line` is the one that it was written on, -1 for none; a scaffold has the fields of what it stands in. `indent` is
    that of the lines below. `dash`: how many dashes of items waited before its own.
    """

    depth: int
    indent: str
    line: int = -1
    told: str = ""
    value: str | None = None
    takes_text: bool = False
    lists: bool = False
    label: bool = False
    dash: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inlined:
    """The lines, and for each ref that they show the index of its line. `rules`: how often each was applied."""

    lines: list[str]
    shown: list[tuple[int, ActionRef]]
    rules: dict[str, int]


def inline(nodes: Sequence[AxNode], refs: Sequence[ActionRef], *, complete: bool = True) -> Inlined:
    """The tree as lines, one pass; the refs whose element it does not hold are in none of them.

    Not `complete`: the nodes are only the beginning of the page's, and so the last line is left out, as it may go on.
    """
    tree = list(placed(nodes, refs))
    writing = _Writing()
    for this, following in zip_longest(tree, islice(tree, 1, None)):
        writing.add(this, following)
    lines = [line.text for line in (writing.lines if complete else writing.lines[:-1])]
    shown = [(line, ref) for line, ref in writing.shown if line < len(lines)]
    return Inlined(lines=lines, shown=shown, rules=writing.rules)


def lines_alone(refs: Iterable[ActionRef]) -> list[str]:
    """The lines of refs that the tree does not show, in the same form."""
    return [tell_alone(ref).line for ref in refs]


def left_out(inlined: Inlined, refs: Iterable[ActionRef], bounded: Bounded) -> tuple[ActionRef, ...]:
    """The refs whose line the bounded text does not show whole; a line that is cut may have lost its states."""
    first = len(inlined.lines[0]) if inlined.lines else 0
    whole = 0 if bounded.chars_shown < first else bounded.lines_shown  # only a first line is cut partway
    shown = {ref.ref for line, ref in inlined.shown if line < whole}
    return tuple(ref for ref in refs if ref.ref not in shown)


class _Writing:
    """The lines so far, and the nodes around the next one."""

    def __init__(self) -> None:
        self.lines: list[_Line] = []
        self.shown: list[tuple[int, ActionRef]] = []
        self.rules = {"scaffolds": 0, "echoes": 0, "markers": 0}
        self._around = [_Around(-1, "")]
        self._dashes: list[str] = []  # indents of the items around whose dash is not yet written

    def add(self, this: Placed, following: Placed | None) -> None:
        """The next node; `following` is the one after it, which tells what stands below and behind."""
        self._leave(this.depth)
        around, node = self._around[-1], this.node
        below = following if following is not None and following.depth > this.depth else None
        bare = this.ref is None and node.value is None and not has_words(node)
        if bare and below is None and self._is_left_out(node, following):
            return
        if bare and not node.name and node.role in _SCAFFOLDS:
            self.rules["scaffolds"] += 1
            label = around.label or node.role == "LabelText"
            inside = (around.indent, around.line, around.told, around.value, around.takes_text, around.lists, label)
            self._around.append(_Around(this.depth, *inside))
        elif bare and not node.name and node.role == "listitem":
            self._around.append(_Around(this.depth, around.indent + " ", dash=len(self._dashes)))
            self._dashes.append(around.indent)
        elif bare and below is None and node.role == "StaticText":
            self._write_text(node.name.strip())
        elif this.ref is None and below is None and node.role == "option" and self._is_open(around) and around.lists:
            self._write_option(tell(node, None, native_menu=False), around.value)
        else:
            self._write(this, below)

    def _leave(self, depth: int) -> None:
        while self._around[-1].depth >= depth:
            dash = self._around.pop().dash
            if dash is not None:
                del self._dashes[dash:]  # an item in which nothing was written

    def _is_open(self, around: _Around) -> bool:
        """Whether what it was written on is still the last line."""
        return around.line >= 0 and around.line == len(self.lines) - 1

    def _is_left_out(self, node: AxNode, following: Placed | None) -> bool:
        if node.role in _SILENT or (node.role == "StaticText" and node.name.strip() in _PUNCTUATION):
            self.rules["markers"] += 1
            return True
        is_icon = node.role in _PICTURES and self._is_named_beside(node, None)
        if is_icon or (node.role == "StaticText" and self._is_echo(folded(node.name), following)):
            self.rules["echoes"] += 1
            return True
        return False

    def _is_echo(self, text: str, following: Placed | None) -> bool:
        """Whether a text repeats the name of what it stands in, or as a label that of the control beside it."""
        around = self._around[-1]
        if text == around.told:
            return True
        if not around.label:
            return False
        before = folded(self.lines[-1].told.name) if self.lines else ""
        return text in (before, *_names(following))

    def _is_named_beside(self, node: AxNode, child: Placed | None) -> bool:
        """Whether what the node stands in, or the first node in it, has the same name, as a link in a heading has."""
        name = folded(node.name)
        if not name or node.role in ("StaticText", "option"):
            return False
        return name == self._around[-1].told or (
            child is not None and child.node.role != "StaticText" and name in _names(child)
        )

    def _write_text(self, text: str) -> None:
        around = self._around[-1]
        if around.takes_text and self._is_open(around) and not self.lines[-1].told.name:
            self.lines[-1].told = self.lines[-1].told._replace(name=text)
        else:
            self._start(around.indent, Told("", text, ()))

    def _write_option(self, told: Told, value: str | None) -> None:
        """An option on the line of its control; the one that the control's value tells is left out."""
        if told.name == value and told.words == ("selected",):
            self.rules["echoes"] += 1
        else:
            self.lines[-1].more.append(f"{_OPTION}{json_string(told.name)}{in_brackets(told.words)}")

    def _write(self, this: Placed, below: Placed | None) -> None:
        node, around = this.node, self._around[-1]
        menu = below is not None and below.node.role == "MenuListPopup"
        told = tell(node, this.ref, native_menu=menu)
        if this.ref is None and self._is_named_beside(node, below):
            told = told._replace(name="")
        if node.role == "listitem":
            self._dashes.append(around.indent)
            told = told._replace(role="") if this.ref is None and told.name else told
        self._start(around.indent, told)
        if this.ref is not None:
            self.shown.append((len(self.lines) - 1, this.ref))
        own_words = this.ref is None and not told.name and node.role in _OWN_WORDS
        self._around.append(
            _Around(
                this.depth,
                around.indent + " ",
                line=len(self.lines) - 1,
                told=folded(told.name),
                value=around.value if node.role == "group" else node.value,
                takes_text=own_words,
                lists=node.role in _LISTING or (node.role == "group" and around.lists),
            )
        )

    def _start(self, indent: str, told: Told) -> None:
        """A new line, with the dashes of the items that it is the first of."""
        start = self._dashes[0] + "- " * len(self._dashes) if self._dashes else indent
        self._dashes.clear()
        self.lines.append(_Line(start, told))


def _names(placed_node: Placed | None) -> tuple[str, ...]:
    if placed_node is None:
        return ()
    ref = placed_node.ref
    names = (folded(placed_node.node.name), "" if ref is None else folded(ref.name))
    return tuple(name for name in names if name)
