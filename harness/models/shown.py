"""Reads a rendering back as a model would: its refs, and the body between its fences. Knows the text alone."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

_HEADER = re.compile(r"Action refs \(\d+(?: to \d+)? of \d+\+?\):")
_INLINE = re.compile(r"Action refs \(\d+ of \d+\+?\): N before a role is (e[0-9a-z]+_)N")
_FURTHER = "Action refs that the text does not show:"
_REF = re.compile(r'(e[0-9a-z]+_[0-9]+) (\S+) (?=")')
_NUMBERED = re.compile(r" *(?:- )*([0-9]+) (\S+)(?= \"| \[| \||$)")
_OPTION = " | "
_STATE = re.compile(r"([a-z-]+)(=)?")
_WORD = re.compile(r"[A-Za-z0-9]+")
_FENCE = re.compile(r"(AX|Page) text <<([0-9a-z]+)")
_NODE = re.compile(r' *- ([A-Za-z][A-Za-z0-9_-]*) (?=")')
_DECODER = json.JSONDecoder()

BodyKind = Literal["AX", "Page"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRef:
    """One ref. A state that is a bare word has the value True; the others have their text.

    `at` is its line in the body, where that shows it.
    """

    ref: str
    role: str
    name: str
    states: Mapping[str, str | Literal[True]]
    at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBody:
    """The lines between the fences. `kind` tells an AX snapshot from visible text."""

    kind: BodyKind
    lines: tuple[str, ...]

    def shows(self, line: str, role: str, name: str) -> bool:
        """Whether this line of the body is the control: its own node in AX text, its name in visible text."""
        if self.kind == "Page":
            return name in line
        node = _NODE.match(line)
        if node is None or node[1] != role:
            return False
        try:
            shown: object = _DECODER.raw_decode(line, node.end())[0]
        except json.JSONDecodeError:
            return False
        return shown == name


def read_refs(rendering: str) -> tuple[ShownRef, ...]:
    """The refs in their order; empty where there is no section of them.

    The section `Action refs` lists them up to the first blank line, or says how the body shows them by their numbers.
    """
    lines = rendering.split("\n")
    for start, line in enumerate(lines):
        if (inline := _INLINE.fullmatch(line)) is not None:
            return _read_inline(rendering, inline[1])
        if _HEADER.fullmatch(line) is not None:
            read = (_read_ref(each) for each in _section(lines, start))
            return tuple(ref for ref in read if ref is not None)
    return ()


def read_body(rendering: str) -> ShownBody | None:
    """The text between the fences; None where the rendering has no complete fence."""
    lines = rendering.split("\n")
    for start, line in enumerate(lines):
        opening = _FENCE.fullmatch(line)
        if opening is None:
            continue
        closing = f"{opening[2]}>>"
        if closing not in lines[start + 1 :]:
            return None
        kind: BodyKind = "AX" if opening[1] == "AX" else "Page"
        return ShownBody(kind=kind, lines=tuple(lines[start + 1 : lines.index(closing, start + 1)]))
    return None


def _section(lines: Sequence[str], start: int) -> Iterator[str]:
    """The lines behind that one, up to the first blank line."""
    return takewhile(lambda line: line != "", lines[start + 1 :])


def _read_ref(line: str) -> ShownRef | None:
    head = _REF.match(line)
    return (
        None if head is None else _read_told(line, head.end(), ShownRef(ref=head[1], role=head[2], name="", states={}))
    )


def _read_inline(rendering: str, prefix: str) -> tuple[ShownRef, ...]:
    body = read_body(rendering)
    if body is None:
        return ()
    lines = rendering.split("\n")
    further = _section(lines, lines.index(_FURTHER)) if _FURTHER in lines else ()
    given: list[tuple[int | None, str]] = [*enumerate(body.lines), *((None, line) for line in further)]
    found: dict[int, ShownRef] = {}
    for at, line in given:
        head = _NUMBERED.match(line)
        if head is not None:
            ref = ShownRef(ref=prefix + head[1], role=head[2], name="", states={}, at=at)
            if (told := _read_told(line, head.end() + 1, ref)) is not None:
                found.setdefault(int(head[1]), told)
    return tuple(found[number] for number in sorted(found))


def _read_told(line: str, at: int, ref: ShownRef) -> ShownRef | None:
    """The ref with the name and the states that stand there; None where they are of no known form."""
    name = ""
    if line.startswith('"', at):
        try:
            name, at = _DECODER.raw_decode(line, at)
        except json.JSONDecodeError:
            return None
    else:
        at -= 1
    end = at
    if line.startswith(" [", at):
        end = _end_of_states(line, at + 2)
    if end != len(line) and not line.startswith(_OPTION, end):
        return None
    states = _read_states(line[at:end])
    return None if states is None else replace(ref, name=name, states=states)


def _end_of_states(text: str, at: int) -> int:
    """Behind the bracket that ends them; brackets in quotes end nothing."""
    while at < len(text) and text[at] != "]":
        if text[at] == '"':
            try:
                at = _DECODER.raw_decode(text, at)[1]
            except json.JSONDecodeError:
                return len(text)
        else:
            at += 1
    return min(at + 1, len(text))


def _read_states(text: str) -> dict[str, str | Literal[True]] | None:
    """Decode ` [value="a", checked=true, disabled]`; None for anything else that is not empty."""
    if text == "":
        return {}
    if not (text.startswith(" [") and text.endswith("]")):
        return None
    states: dict[str, str | Literal[True]] = {}
    at, last = 2, len(text) - 1
    while at < last:
        key = _STATE.match(text, at)
        if key is None:
            return None
        at = key.end()
        if key[2] is None:
            states[key[1]] = True
        else:
            read = _read_state_value(text, at)
            if read is None:
                return None
            states[key[1]], at = read
        if text.startswith(", ", at):
            at += 2
        elif at != last:
            return None
    return states


def _read_state_value(text: str, at: int) -> tuple[str, int] | None:
    if text.startswith('"', at):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError:
            return None
        return str(value), end
    word = _WORD.match(text, at)
    return None if word is None else (word[0], word.end())
