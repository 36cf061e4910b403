"""Reads native snapshot text line by line (docs/observation.md, section 2, "Reading a line").

One pattern reads a line. Its repeats are possessive and its few alternatives are tried once each, so that a hostile
line costs a fixed number of walks over its characters. It is applied to many lines in one call, as calls are dear and
matches are not; and it settles here what most lines have, so that their rows need no further look.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

Row = tuple[str, str, str, str]
"""One line: indent, head, ref, tail. Joined, they are the line, but for what a ref or a bare node leaves out.

indent   up to and with the dash and its blank; empty for an unknown line, whose text is then the tail
head     the role, its quoted name as written, and the bracket list if it is a plain one; empty for a bare node
ref      whether a ref was taken out of the list: `ONLY_OR_FIRST_REF`, `LAST_REF`, or empty
tail     all that follows: the bracket list if it is not a plain one, and the remainder

A plain list has entries without quotes and commas, none of which begins like a ref. A ref may stand behind them: then
the head ends in a comma in place of the bracket. It may stand before them: then the tail goes on with a comma, all of
them and the bracket. Where it stands alone, the whole list is left out.
"""

ONLY_OR_FIRST_REF = "["
LAST_REF = "r"
"""What stands for a ref in a row: the character before or at its begin, which costs no string of its own."""

_STRING_CHARS = "[ !#-\\[\\]-\uffff\U00010000-\U0010ffff]*+"
"""What JSON leaves raw in a string: all but quotes, backslashes and C0 controls. A class of what is in is read faster
than one of what is not; its last two ranges are one, split where the engine's tables end."""

_STRING_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_JSON_STRING = rf'"{_STRING_CHARS}(?:"|(?:{_STRING_ESCAPE}{_STRING_CHARS})++")'
_NAMED_ROLE = rf'[A-Za-z][A-Za-z0-9_-]*+(?: {_JSON_STRING}|(?! "))'

_ENTRY = "(?!ref=e)[ !#-+\\--\\\\^-\uffff\U00010000-\U0010ffff]++"
_PLAIN_LIST = rf"(?: \[{_ENTRY}(?:[\],]|(?:, {_ENTRY})++[\],])|)"
_AS_LAST = r"(?<=, r)ef=e[0-9]++\]"
_AS_ONLY = r"\](?!,)"
_AS_FIRST = rf"(?=, {_ENTRY}(?:, {_ENTRY})*+\])"
_REF = rf"(?: ([r\[])(?:{_AS_LAST}|(?<=[^\],] \[)ref=e[0-9]++(?:{_AS_ONLY}|{_AS_FIRST}))|(?<!,))"
_BARE_END = r"(?= \[ref=e[0-9]++\]\n|\n)"

_BATCH_CHARS = 32_768
"""Characters read by one call: enough to make the call cheap, few enough to keep memory flat on any text."""


def reader(bare: Iterable[str]) -> Callable[[str], Iterator[Row]]:
    """Make the function that reads a native text into rows, one a line, split on LF alone.

    A node that is nothing but a role of `bare`, save for one ref, has an empty head; where several refs stand in its
    list it does not, and the list is its tail. An empty text is one empty unknown line.
    """
    roles = "".join(f"{role}{_BARE_END}|" for role in sorted(bare))
    line = re.compile(rf"(?:( *+- )(?:{roles}({_NAMED_ROLE}{_PLAIN_LIST})){_REF}|)(.*+)\n")

    def rows(text: str) -> Iterator[Row]:
        return chain.from_iterable(map(line.findall, _batches(text)))

    return rows


def split_tail(tail: str) -> tuple[str, str]:
    """What stands inside the bracket list at the start of a tail, empty where there is no list; the remainder."""
    inside, bracket, remainder = tail[2:].partition("]")
    return (inside, remainder) if bracket else ("", tail)


def holds_value(remainder: str) -> bool:
    """Whether a remainder holds a value, behind which no line can be trusted to be a node."""
    return ": " in remainder or remainder.endswith(":")


def _batches(text: str) -> Iterator[str]:
    """The text in parts of whole lines, each line with a line break."""
    start = 0
    while (end := text.find("\n", start + _BATCH_CHARS) + 1) != 0:
        yield text[start:end]
        start = end
    yield text[start:] + "\n"
