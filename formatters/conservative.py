"""The conservative compaction of native text: three named rules, and a fallback where values make the text untrusted.

refs           `ref=e<digits>` entries of a node's bracket list go: only the DOM observation grants actions
scaffolds      `generic`, `paragraph` and `LabelText` without name, attribute or hint go; their children move up
heading_echo   a text leaf that repeats the name of its heading goes

If any node line holds a value, the text is kept as it is: values are written raw, and lines behind one may be forged.
"""

from dataclasses import dataclass

from formatters import native

SCAFFOLDS = frozenset({"generic", "paragraph", "LabelText"})
"""Roles that, bare, tell a reader nothing but that there is a box."""

_REF = "ref=e"
_HEADING = 'heading "'
_TEXT = 'StaticText "'

_HINTED = "-"
"""Stands for the head of a kept node with a remainder: it has children, but none of them is an echo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A text after compaction. `verbatim`: nothing was changed; `rules`: how often each rule applied."""

    text: str
    verbatim: bool
    rules: dict[str, int]


_Group = tuple[str, str, str]
"""Siblings: their indent, what they are written behind, and the content that would be an echo among them."""

_ROOT: _Group = ("", "- ", "")
"""Where a text begins, and begins anew behind an unknown line."""


def rule_counts(refs: int = 0, scaffolds: int = 0, heading_echo: int = 0) -> dict[str, int]:
    """How often each rule applied: ref entries removed, scaffolds removed, echoes removed."""
    return {"refs": refs, "scaffolds": scaffolds, "heading_echo": heading_echo}


def verbatim(text: str) -> Compacted:
    """The text as it is, no rule applied."""
    return Compacted(text=text, verbatim=True, rules=rule_counts())


def compact(text: str) -> Compacted:
    """Apply the rules to native text in one pass, linear in its length; with a value on any node line, keep it all.

    `last`, `prefix` and `echo` are the group of the last node, `outer` those of its ancestors. `own` is what the last
    node is to a child: empty where it was not kept, `_HINTED`, or its head.
    """
    outer: list[_Group] = []
    last, prefix, echo = _ROOT
    own = ""
    lines: list[str] = []
    echoes: list[int] = []
    refs = scaffolds = 0
    for indent, head, ref, tail in native.rows(text):
        if not head:
            outer.clear()
            last, prefix, echo = _ROOT
            own = ""
            lines.append(tail)
            continue
        if indent != last:
            if echoes and own and indent > last and echoes[-1] == len(lines) - 1:
                echoes.pop()  # the last node has a child, so it is no leaf
            prefix, echo = _moved(outer, (last, prefix, echo), indent, own)
            last = indent
        refs += ref != ""
        if tail:
            content = _without_refs(ref, tail)
            if content is None:
                return verbatim(text)
            tail, plain, removed = content
            refs += removed
        if tail:
            lines.append(prefix + head + tail)
            own = head if plain else _HINTED
        elif head in SCAFFOLDS:
            scaffolds += 1
            own = ""
        else:
            if echo and head == echo:
                echoes.append(len(lines))
            lines.append(prefix + head)
            own = head
    remaining = "\n".join(_dropped(lines, echoes))
    return Compacted(text=remaining, verbatim=False, rules=rule_counts(refs, scaffolds, len(echoes)))


def _moved(outer: list[_Group], group: _Group, indent: str, own: str) -> tuple[str, str]:
    """Prefix and echo of the group that a node of another indent than the last one belongs to."""
    if indent > group[0]:
        outer.append(group)
        if not own:
            return group[1], ""
        return "  " + group[1], _TEXT + own[len(_HEADING) :] if own.startswith(_HEADING) else ""
    while outer and outer[-1][0] >= indent:
        group = outer.pop()
    return group[1], group[2]


def _without_refs(ref: str, tail: str) -> tuple[str, bool, int] | None:
    """A node's tail without native refs, whether it has no remainder, how many refs went. None: it holds a value."""
    inside, remainder = native.split_tail(ref, tail)
    if remainder and native.holds_value(remainder):
        return None
    if not inside or _REF not in inside:
        return tail, not remainder, 0
    entries = inside.split(", ")
    others = [entry for entry in entries if not is_ref(entry)]
    removed = len(entries) - len(others)
    attributes = ", ".join(others)
    return (f" [{attributes}]{remainder}" if attributes or not removed else remainder), not remainder, removed


def is_ref(entry: str) -> bool:
    """Whether an entry of a bracket list is a native ref: `ref=e` and ASCII digits."""
    digits = entry[len(_REF) :]
    return entry.startswith(_REF) and digits.isdigit() and digits.isascii()


def _dropped(lines: list[str], places: list[int]) -> list[str]:
    if not places:
        return lines
    gone = set(places)
    return [line for place, line in enumerate(lines) if place not in gone]
