"""The conservative compaction of native text: three named rules, and a fallback where values make the text untrusted.

refs           `ref=e<digits>` entries of a node's bracket list go: only the DOM observation grants actions
scaffolds      `generic`, `paragraph` and `LabelText` without name, attribute or hint go; their children move up
heading_echo   a text leaf that repeats the name of its heading goes

If any node line holds a value, the text is kept as it is: values are written raw, and lines behind one may be forged.
"""

from dataclasses import dataclass

from formatters import native
from formatters.native import LAST_REF, ONLY_OR_FIRST_REF

SCAFFOLDS = frozenset({"generic", "paragraph", "LabelText"})
"""Roles that, bare, tell a reader nothing but that there is a box."""

_REF = "ref=e"
_HEADING = 'heading "'
_TEXT = 'StaticText "'

_NEVER = "-"
"""Equal to no head and no indent."""

_HINTED = " "
"""Stands for the head of a kept node that is no echo and has none."""

_rows = native.reader(SCAFFOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A text after compaction. `verbatim`: nothing was changed; `rules`: how often each rule applied."""

    text: str
    verbatim: bool
    rules: dict[str, int]


_Group = tuple[str, str]
"""Siblings: what they are written behind, and the head that would be an echo among them."""

_START: tuple[_Group, int, str, str] = (("- ", _NEVER), 0, _NEVER, "")
"""Group, depth, indent and `own` (see `compact`) before the first line, and again behind an unknown line."""


def rule_counts(refs: int = 0, scaffolds: int = 0, heading_echo: int = 0) -> dict[str, int]:
    """How often each rule applied: ref entries removed, scaffolds removed, echoes removed."""
    return {"refs": refs, "scaffolds": scaffolds, "heading_echo": heading_echo}


def verbatim(text: str) -> Compacted:
    """The text as it is, no rule applied."""
    return Compacted(text=text, verbatim=True, rules=rule_counts())


# The hot loop: one more call a line costs a tenth of the whole, so what happens to a node is written out in it.
def compact(text: str) -> Compacted:  # noqa: C901, PLR0915
    """Apply the rules to native text in one pass, linear in its length; with a value on any node line, keep it all.

    `groups` has, by indent, the group that a node would join there; `own` is what the last node is to a child: empty
    where it was not kept, `_HINTED`, or its head. An echo is put back where a child follows, as it is no leaf then.
    """
    (prefix, echo), depth, last, own = _START
    groups = [_START[0]]
    lines: list[str] = []
    refs = scaffolds = echoes = 0
    for indent, head, ref, tail in _rows(text):
        if not indent:
            lines.append(tail)
            (prefix, echo), depth, last, own = _START
            continue
        if indent != last:
            before, depth, last = depth, len(indent), indent
            if depth > before:
                if own == echo:
                    lines.append(prefix + own)
                    echoes -= 1
                if own:
                    prefix = "  " + prefix
                echo = _TEXT + own[9 : own.rindex('"') + 1] if own[:9] == _HEADING else _NEVER
                if depth - before == 2 and depth < len(groups):
                    groups[depth] = groups[depth - 1] = prefix, echo
                else:
                    groups[before + 1 :] = [(prefix, echo)] * (depth - before)
            else:
                prefix, echo = groups[depth]
        if ref:
            refs += 1
            if ref == LAST_REF:
                head = head[:-1] + "]"
        own = head
        if tail:
            rest = _without_refs(head, ref, tail)
            if rest is None:
                return verbatim(text)
            head, tail, own, removed = rest
            refs += removed
            if tail:
                lines.append(prefix + head + tail)
                continue
        if head == echo:
            echoes += 1
        elif head:
            lines.append(prefix + head)
        else:
            scaffolds += 1
    return Compacted(text="\n".join(lines), verbatim=False, rules=rule_counts(refs, scaffolds, echoes))


def _without_refs(head: str, ref: str, tail: str) -> tuple[str, str, str, int] | None:
    """A node's head and tail without native refs, what it is to a child, how many refs went. None: it holds a value."""
    if tail[:2] != " [" and tail[0] != ",":
        return None if native.holds_value(tail) else (head, tail, _HINTED, 0)
    listed, remainder, removed = tail, tail, 0
    if ref == ONLY_OR_FIRST_REF and tail[0] == ",":
        listed = " [" + tail[2:]
        remainder = tail.partition("]")[2]
    elif not ref and tail[0] == " " and head[-1:] != "]":
        listed, remainder, removed = _rewritten(tail)
    if remainder and native.holds_value(remainder):
        return None
    if not listed:
        head = "" if head in SCAFFOLDS else head
        return head, "", head, removed
    return head, listed, head if not remainder and head[:9] == _HEADING else _HINTED, removed


def _rewritten(tail: str) -> tuple[str, str, int]:
    """A tail that may begin with a bracket list, without the list's refs; its remainder; how many refs went."""
    inside, remainder = native.split_tail(tail)
    if _REF not in inside:
        return tail, remainder, 0
    entries = inside.split(", ")
    others = [entry for entry in entries if not is_ref(entry)]
    removed = len(entries) - len(others)
    kept = ", ".join(others)
    return f" [{kept}]{remainder}" if kept or not removed else remainder, remainder, removed


def is_ref(entry: str) -> bool:
    """Whether an entry of a bracket list is a native ref: `ref=e` and ASCII digits."""
    return entry[:5] == _REF and entry[5:].isdigit() and entry.isascii()
