"""Text for people: numbers, the word for what is not known, and page text made harmless to look at.

Invariant: None is always `UNKNOWN`, never 0 and never an empty cell.
"""

import math
import re

UNKNOWN = "unknown"

RENDERING_BOUND = 40_000
"""Characters of one rendering in report.html: 12,000 of AX text, the header, and 250 refs of about 100 characters."""

ANSWER_BOUND = 4_000
"""Characters of one answer or of one call's arguments; longer ones stay whole in steps.jsonl."""

CELL_BOUND = 300
"""Characters of one free-text table cell, such as an error."""

NAME_BOUND = 80
"""Characters of a name in a table or plot."""

# Controls, bidi and other format characters, line and paragraph separators, tags, lone surrogates: all that is either
# invisible or changes how the text around it is shown. LF and TAB are handled apart.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_MARKDOWN = re.compile(r"[\\`*_\[\]|#~!&<>]|(?<=:)//|(?<=www)\.")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text with each invisible or direction-changing character written as an escape; LF and TAB stay."""
    return _INVISIBLE.sub(_escape, text)


def one_line(text: str, bound: int = CELL_BOUND) -> str:
    """The text as one visible line of at most `bound` characters and a mark of what was cut."""
    return bounded(visible(" ".join(text.split())), bound)


def bounded(text: str, bound: int) -> str:
    """The first `bound` characters, with a mark that says so if the text was longer."""
    if len(text) <= bound:
        return text
    return f"{text[:bound]} [cut: {bound:,} of {len(text):,} characters shown]"


def finite(value: float | None) -> float | None:
    """The number, or None if it is not known or not finite."""
    return value if value is not None and math.isfinite(value) else None


def number(value: float | None, digits: int | None = 0) -> str:
    """A number with thousands separators and `digits` decimals, or the word for not known.

    Without `digits` there are as many decimals as three figures need, two at most: stage times span five decades.
    """
    if value is None:
        return UNKNOWN
    if digits is None:
        digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
        return f"{value:,.{digits}f}"
    whole = float(value).is_integer()
    # A median of two whole numbers may end in .5, which the reader must see.
    return f"{value:,.{digits if digits else (0 if whole else 1)}f}"


def signed(value: float | None, digits: int | None = 0) -> str:
    """A difference with its sign; exactly 0 has none."""
    if value is None:
        return UNKNOWN
    text = number(abs(value), digits)
    if not any(char in "123456789" for char in text):
        return text
    return f"+{text}" if value > 0 else f"\N{MINUS SIGN}{text}"


def markdown(text: str) -> str:
    """The text as one line that no markdown reader takes for markup, HTML or a link."""

    def quoted(match: re.Match[str]) -> str:
        found = match[0]
        named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "//": "\\/\\/"}
        return named.get(found, f"\\{found}")

    return _MARKDOWN.sub(quoted, one_line(text))


def known(text: str, values: int, of: int) -> str:
    """The text, with how many values were known where that is not all."""
    return text if values == of or text == UNKNOWN else f"{text} ({values} of {of} known)"
