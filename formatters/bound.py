"""The cut: what is too long for a model is shortened at a line break, and says so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A text within its bound. Characters are Unicode code points; no count includes the marker line in `text`.

    The totals are None where only the beginning was read, and the rest not counted.
    """

    text: str
    truncated: bool
    chars_shown: int
    chars_total: int | None
    lines_shown: int
    lines_total: int | None


def line_count(text: str) -> int:
    """How many lines a text has, split on LF alone; an empty text has none."""
    return text.count("\n") + 1 if text else 0


def bound(text: str, limit: int, label: str, *, chars_total: int | None = None) -> Bounded:
    """Cut a text of more than `limit` code points at the last line break at or before the bound, and mark the cut.

    Where the first line alone is longer, the cut is at the bound itself, and that line counts as shown. The marker is
    one more line, outside the bound. `chars_total` is given where the text is only the beginning of a longer one, which
    then counts as cut in any case; the lines that were never read are in no count.
    """
    cut = len(text)
    if cut > limit:
        cut = text.rfind("\n", 0, limit + 1)
        cut = limit if cut == -1 else cut
    total = len(text) if chars_total is None else chars_total
    truncated = cut < len(text) or chars_total is not None
    shown = text[:cut]
    lines_shown, lines_total = line_count(shown), line_count(text)
    marker = f"\n[{label} truncated: {cut} of {total} characters, {lines_shown} of {lines_total} lines shown]"
    return Bounded(
        text=shown + marker if truncated else shown,
        truncated=truncated,
        chars_shown=cut,
        chars_total=total,
        lines_shown=lines_shown,
        lines_total=lines_total,
    )


def bound_beginning(text: str, limit: int, label: str) -> Bounded:
    """The same cut of a text of which only the beginning was read: it always counts as cut, and has no totals."""
    shown = bound(text, limit, label)
    kept = text[: shown.chars_shown]
    marker = (
        f"\n[{label} truncated: {shown.chars_shown} characters, {shown.lines_shown} lines shown; the rest not counted]"
    )
    return Bounded(
        text=kept + marker,
        truncated=True,
        chars_shown=shown.chars_shown,
        chars_total=None,
        lines_shown=shown.lines_shown,
        lines_total=None,
    )
