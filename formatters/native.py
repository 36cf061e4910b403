"""Reads native snapshot text line by line (docs/observation.md, section 2, "Reading a line").

One pattern reads a line, and no part of it can give back what it took (possessive repeats), so that a hostile line
costs one walk over its characters. It is applied to many lines in one call, as calls are dear and matches are not.
"""

import re
from collections.abc import Iterator
from itertools import chain

Row = tuple[str, str, str, str]
"""One line: indent, head, ref digits, tail.

`head` is the role with its quoted name as written; it is empty for an unknown line, whose text is then the tail. `ref
digits` are those of a bracket list that is exactly `[ref=e<digits>]`, the most usual one, which is then in no other
field. `tail` is all that follows: the bracket list if it is another one, and the remainder.
"""

_STRING_CHARS = r'[^"\\\x00-\x1f]*+'
_STRING_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_JSON_STRING = rf'"{_STRING_CHARS}(?:"|(?:{_STRING_ESCAPE}{_STRING_CHARS})++")'
_HEAD = rf'[A-Za-z][A-Za-z0-9_-]*+(?: {_JSON_STRING}|(?! "))'
_LINE = re.compile(rf"^(?:( *+)- ({_HEAD})(?: \[ref=e([0-9]++)\]|)|)(.*+)\n?", re.MULTILINE)

_BATCH_CHARS = 32_768
"""Characters read by one call: enough to make the call cheap, few enough to keep memory flat on any text."""


def rows(text: str) -> Iterator[Row]:
    """The rows of a native text, one a line, split on LF alone. An empty text is one empty unknown line."""
    return chain.from_iterable(map(_LINE.findall, _batches(text)))


def split_tail(ref_digits: str, tail: str) -> tuple[str | None, str]:
    """What stands inside the bracket list at the start of a row's tail, None where there is no list; the remainder."""
    if not ref_digits and tail.startswith(" ["):
        inside, bracket, remainder = tail[2:].partition("]")
        if bracket:
            return inside, remainder
    return None, tail


def holds_value(remainder: str) -> bool:
    """Whether a remainder holds a value, behind which no line can be trusted to be a node."""
    return ": " in remainder or remainder.endswith(":")


def _batches(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start + _BATCH_CHARS)) != -1:
        yield text[start:end]
        start = end + 1
    yield text[start:]
