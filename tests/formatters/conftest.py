"""What the formatter tests share: a slow reading of the contract, and an observation to render."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from observe.model import ActionRef, AxText, Observation, PageText, ReadCost, Stamp


@dataclass(slots=True)
class PlainLine:
    """One line as the contract reads it; `role` is empty for an unknown line."""

    raw: str
    indent: int = -1
    role: str = ""
    name: str = ""
    attributes: str | None = None
    remainder: str = ""
    parent: "PlainLine | None" = None
    children: int = 0
    gone: bool = False

    @property
    def content(self) -> str:
        attributes = "" if self.attributes is None else f" [{self.attributes}]"
        return self.role + self.name + attributes + self.remainder


def read_plainly(raw: str) -> PlainLine:
    """Read one line step by step, the name with a JSON decoder."""
    line = PlainLine(raw=raw)
    match = re.fullmatch(r"( *)- (.*)", raw)
    role = re.match(r"[A-Za-z][A-Za-z0-9_-]*", match[2]) if match else None
    if match is None or role is None:
        return line
    rest = match[2][role.end() :]
    if rest.startswith(' "'):
        try:
            end = json.JSONDecoder().raw_decode(rest, 1)[1]
        except json.JSONDecodeError:
            return line
        line.name, rest = rest[:end], rest[end:]
    if rest.startswith(" [") and "]" in rest:
        line.attributes, rest = rest[2 : rest.index("]")], rest[rest.index("]") + 1 :]
    line.indent, line.role, line.remainder = len(match[1]), role[0], rest
    return line


def _set_parents(lines: list[PlainLine]) -> None:
    for place, line in enumerate(lines):
        if not line.role:
            continue
        for earlier in reversed(lines[:place]):
            if not earlier.role:
                break
            if earlier.indent < line.indent:
                line.parent = earlier
                earlier.children += 1
                break


def _drop_refs(line: PlainLine) -> int:
    if line.attributes is None:
        return 0
    entries = line.attributes.split(", ")
    others = [entry for entry in entries if not re.fullmatch("ref=e[0-9]+", entry)]
    if len(others) < len(entries):
        line.attributes = ", ".join(others) or None
    return len(entries) - len(others)


def _is_echo(line: PlainLine) -> bool:
    heading = line.parent
    return (
        heading is not None
        and heading.role == "heading"
        and not heading.remainder
        and bool(heading.name)
        and line.content == f"StaticText{heading.name}"
        and not line.children
    )


def _kept_ancestors(line: PlainLine) -> int:
    count = 0
    while line.parent is not None:
        line = line.parent
        count += not line.gone
    return count


def compact_plainly(text: str) -> tuple[str, bool, dict[str, int]]:
    """Text, whether it is verbatim, and rule counts, one rule after the other, with no care for speed."""
    rules = {"refs": 0, "scaffolds": 0, "heading_echo": 0}
    lines = [read_plainly(raw) for raw in text.split("\n")]
    if any(": " in line.remainder or line.remainder.endswith(":") for line in lines):
        return text, True, rules
    _set_parents(lines)
    for line in lines:
        rules["refs"] += _drop_refs(line)
    for line in lines:
        if line.content in ("generic", "paragraph", "LabelText"):
            line.gone = True
            rules["scaffolds"] += 1
        elif line.role and _is_echo(line):
            line.gone = True
            rules["heading_echo"] += 1
    kept = [
        "  " * _kept_ancestors(line) + "- " + line.content if line.role else line.raw for line in lines if not line.gone
    ]
    return "\n".join(kept), False, rules


@pytest.fixture(scope="session")
def plainly() -> Callable[[str], tuple[str, bool, dict[str, int]]]:
    """The slow reading of the contract that the fast one is compared with."""
    return compact_plainly


@pytest.fixture(scope="session")
def observation() -> Callable[..., Observation]:
    """Makes an observation of a small page from the fields that a test names."""

    def make(
        *,
        url: str = "https://orders.test/",
        title: str = "Orders",
        refs: tuple[ActionRef, ...] = (),
        ax: AxText | None = None,
        page_text: PageText | None = None,
    ) -> Observation:
        return Observation(
            stamp=Stamp(tag="4k2p9z", nonce="0" * 32),
            document="d",
            url=url,
            title=title,
            refs=refs,
            refs_total=len(refs),
            ax=ax,
            page_text=page_text,
            cost=ReadCost(ax_ms=1.0, text_ms=None, dom_ms=1.0, total_ms=2.0),
        )

    return make
