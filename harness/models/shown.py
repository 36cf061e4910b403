"""Reads a rendering back as a model would: its ref lines, and the body between its fences. Knows the text alone."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_HEADER = re.compile(r"Action refs \(\d+(?: to \d+)? of \d+\+?\):")
_REF = re.compile(r'(e[0-9a-z]+_[0-9]+) (\S+) (?=")')
_STATE = re.compile(r"([a-z-]+)(=)?")
_WORD = re.compile(r"[a-z]+")
_FENCE = re.compile(r"(AX|Page) text <<([0-9a-z]+)")
_NODE = re.compile(r' *- ([A-Za-z][A-Za-z0-9_-]*) (?=")')
_DECODER = json.JSONDecoder()

BodyKind = Literal["AX", "Page"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRef:
    """One ref line. A state that is a bare word has the value True; the others have their text."""

    ref: str
    role: str
    name: str
    states: Mapping[str, str | Literal[True]]


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
    """The ref lines of the section `Action refs`, which ends at the first blank line; empty where there is none."""
    refs: list[ShownRef] = []
    inside = False
    for line in rendering.split("\n"):
        if not inside:
            inside = _HEADER.fullmatch(line) is not None
        elif line == "":
            break
        elif (ref := _read_ref(line)) is not None:
            refs.append(ref)
    return tuple(refs)


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


def _read_ref(line: str) -> ShownRef | None:
    head = _REF.match(line)
    if head is None:
        return None
    try:
        name, end = _DECODER.raw_decode(line, head.end())
    except json.JSONDecodeError:
        return None
    states = _read_states(line[end:])
    if states is None:
        return None
    return ShownRef(ref=head[1], role=head[2], name=name, states=states)


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
