"""Which lines stand around a line of AX text, as its indents say."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from observe.limits import MAX_CONTEXT_CHARS, MAX_CONTEXT_LINE_CHARS

_NODE = re.compile(r"( *)- ")

LINE_CUT = " [cut]"
"""Ends a line that is shown in part."""


class Nested(NamedTuple):
    """A line by its place, and the places of those around it, outermost first, until the walk goes on."""

    place: int
    around: Sequence[int]


def walk(lines: Sequence[str]) -> Iterator[Nested]:
    """The lines in order. Around a node's line stand the nearest earlier ones with smaller indents, each around the
    next; a line that is no node's stands by itself, and ends what was before it."""
    around: list[int] = []
    indents: list[int] = []
    for place, line in enumerate(lines):
        node = _NODE.match(line)
        indent = -1 if node is None else node.end()
        while indents and indents[-1] >= indent:
            indents.pop()
            around.pop()
        yield Nested(place, around)
        if node is not None:
            indents.append(indent)
            around.append(place)


def nearest(lines: Sequence[str], around: Sequence[int]) -> list[tuple[int, str]]:
    """Of the lines around one, the nearest that fit their bound, with their places; long ones are cut."""
    kept: list[tuple[int, str]] = []
    left = MAX_CONTEXT_CHARS
    for place in reversed(around):
        line = lines[place]
        shown = line if len(line) <= MAX_CONTEXT_LINE_CHARS else line[:MAX_CONTEXT_LINE_CHARS] + LINE_CUT
        left -= len(shown)
        if left < 0:
            break
        kept.append((place, shown))
    return kept[::-1]
