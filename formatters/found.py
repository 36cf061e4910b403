"""What a search found: the lines that match in the lines around them, and the refs of the elements that match."""

import re
from typing import NamedTuple

from formatters.bound import line_count
from formatters.catalog import Body, get
from formatters.nesting import LINE_CUT, nearest, walk
from formatters.render import Rendering, address, fenced, ref_section
from formatters.search import Search
from observe.limits import MAX_AX_CHARS, MAX_FOUND_LINE_CHARS, MAX_FOUND_LINES, MAX_SEARCHED_ELEMENTS
from observe.model import Observation

_LEAD = re.compile(r" *- ")

_HEAD_CHARS = 100
"""Of a long line so much of its beginning is shown, and of the text before the match."""


class _Found(NamedTuple):
    lines: tuple[str, ...]
    shown: int
    matching: int


def render_found(observation: Observation, formatter: str, search: Search) -> Rendering:
    """Render what of the whole document matches; `observation` has the refs of the elements that do.

    Raises: UnknownFormatter; MissingRead where the observation lacks the read that the formatter needs.
    """
    body = get(formatter).function(observation)
    found = _found(body, search)
    inside = "\n".join(found.lines)
    text = "\n".join(
        [
            *address(observation),
            "",
            _told(observation, search, found),
            "",
            *ref_section(observation),
            "",
            f"{body.label}: {found.shown} of {found.matching} matching lines, with the lines around them.",
            *fenced(body, inside, observation.stamp.tag),
        ]
    )
    whole = body.whole
    return Rendering(
        text=text,
        formatter=formatter,
        verbatim=body.verbatim,
        truncated=found.shown < found.matching,
        chars=len(text),
        utf8_bytes=len(text.encode("utf-8")),
        chars_shown=len(inside),
        chars_total=len(whole.text) if whole.chars_total is None else whole.chars_total,
        lines_shown=len(found.lines),
        lines_total=line_count(whole.text),
        rules=body.rules,
    )


def _told(observation: Observation, search: Search, found: _Found) -> str:
    elements = observation.refs_total
    told = f"Searched the whole document for {search.shown}: {found.matching} lines and {elements} elements match."
    if not observation.all_searched:
        told += f" Of its elements the first {MAX_SEARCHED_ELEMENTS} were searched."
    return told


def _found(body: Body, search: Search) -> _Found:
    """The first lines that match and those around them, each told once, within the bounds of lines and characters."""
    lines = body.whole.text.split("\n") if body.whole.text else []
    told: dict[int, str] = {}
    shown = matching = chars = 0
    full = False
    for place, around in walk(lines):
        lead = _LEAD.match(lines[place])
        start = lead.end() if lead else 0
        if not search.holds(lines[place][start:]):
            continue
        matching += 1
        if full:
            continue
        outer = nearest(lines, around) if body.whole.nested else []
        new = {at: line for at, line in (*outer, (place, _excerpt(lines[place], start, search))) if at not in told}
        more = sum(len(line) + 1 for line in new.values())
        full = shown == MAX_FOUND_LINES or chars + more > MAX_AX_CHARS
        if not full:
            told.update(new)
            chars += more
            shown += 1
    return _Found(tuple(told.values()), shown, matching)


def _excerpt(line: str, start: int, search: Search) -> str:
    """A line that matches, or of a long one its beginning and what stands about the match."""
    if len(line) <= MAX_FOUND_LINE_CHARS:
        return line
    at = start + search.place(line[start:])
    begin = max(at - _HEAD_CHARS, 0)
    if begin <= start + _HEAD_CHARS:
        return line[:MAX_FOUND_LINE_CHARS] + LINE_CUT
    head = line[: min(start, _HEAD_CHARS) + _HEAD_CHARS]
    part = line[begin : begin + MAX_FOUND_LINE_CHARS - len(head)]
    return f"{head}{LINE_CUT} {part}" + (LINE_CUT if begin + len(part) < len(line) else "")
