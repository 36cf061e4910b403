"""The cost of the conservative formatter beside the contract's bare pattern, matched once a line over the same text.

The wanted ratio, in one run on 600,000 characters, is at most 3 for every shape of text; it is written to `extra_info`
and shown, not asserted, as a busy machine must not fail a build.
"""

import random
import re
import time
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from formatters.conservative import compact

_CHARS = 600_000
_ROUNDS = 15

_BARE_PATTERN = re.compile(r"^( *)- (.*)$")
"""The one that observation.md gives for a line: indent and content."""

_WORDS = ("order", "status", "customer", "total", "pending", "review", "shipped", "account", "settings", "invoice")

_TEXT = 'StaticText "{name}"'
_LINK = 'link "{name}" [ref=e{n}]'
_HEADING = 'heading "{name}" [level=2, ref=e{n}]'
_HINTED = 'generic "{name}" [ref=e{n}] clickable [cursor:pointer]'

_ECHO = _HEADING + "\n  - " + _TEXT
"""A heading and, one level below, the text that repeats its name."""

_SHAPES: dict[str, tuple[str, ...]] = {
    "usual mix": (
        *[_TEXT] * 7,
        *[_LINK] * 5,
        *["generic"] * 3,
        _HEADING,
        'button "{name}" [ref=e{n}]',
        "listitem [level=1]",
        "paragraph",
        _HINTED,
    ),
    "text, few refs": (*[_TEXT] * 5, *['cell "{name}"'] * 3, _LINK, "listitem"),
    "scaffolds, deep": (*["generic"] * 8, *["generic [ref=e{n}]"] * 2, "paragraph", "LabelText", *[_TEXT] * 4, _LINK),
    "headings with echoes": (*[_ECHO] * 4, "generic", _LINK),
    "attributes and hints": (
        _HEADING,
        'checkbox "{name}" [checked=false, ref=e{n}]',
        'link "{name}" [ref=e{n}, url=https://orders.test/{n}]',
        _HINTED,
        _TEXT,
        "generic",
    ),
}
"""What the lines of a text are drawn from."""

_MAX_DEPTHS = {"scaffolds, deep": 60}
_USUAL_MAX_DEPTH = 8


def _native_text(shape: str) -> str:
    """Native text of a large page: contents drawn from the shape's, depth by a random walk, the same in every run."""
    source = random.Random(1)
    max_depth = _MAX_DEPTHS.get(shape, _USUAL_MAX_DEPTH)
    steps = (-2, -1, 0, 1, 1, 1) if shape in _MAX_DEPTHS else (-1, 0, 0, 1)
    parts: list[str] = []
    chars = depth = 0
    while chars < _CHARS:
        name = " ".join(source.choices(_WORDS, k=source.randint(2, 5)))
        content = source.choice(_SHAPES[shape]).format(name=name, n=len(parts))
        depth = max(0, min(max_depth, depth + source.choice(steps)))
        indent = "  " * depth
        parts.append(indent + "- " + content.replace("\n", "\n" + indent))
        chars += len(parts[-1]) + 1
    return "\n".join(parts)[:_CHARS]


@pytest.fixture(scope="module", params=_SHAPES)
def snapshot(request: pytest.FixtureRequest) -> str:
    return _native_text(str(request.param))


def _match_lines(text: str) -> None:
    for line in text.split("\n"):
        _BARE_PATTERN.match(line)


def _ms(work: Callable[[str], object], text: str) -> float:
    start = time.perf_counter()
    work(text)
    return (time.perf_counter() - start) * 1_000


def _ratio(text: str) -> float:
    """Fastest formatting by fastest matching, the two taken in turns so that both see the same machine."""
    rounds = [(_ms(compact, text), _ms(_match_lines, text)) for _ in range(_ROUNDS)]
    return min(formatting for formatting, _ in rounds) / min(matching for _, matching in rounds)


@pytest.mark.benchmark(group="conservative formatter, 600,000 characters")
def test_conservative(benchmark: BenchmarkFixture, snapshot: str) -> None:
    benchmark.extra_info["ratio_to_regex"] = round(_ratio(snapshot), 2)
    compacted = benchmark(compact, snapshot)
    assert not compacted.verbatim


@pytest.mark.benchmark(group="conservative formatter, 600,000 characters")
def test_bare_regex(benchmark: BenchmarkFixture, snapshot: str) -> None:
    benchmark(_match_lines, snapshot)
