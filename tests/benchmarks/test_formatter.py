"""The cost of the conservative formatter beside one compiled regular-expression match a line over the same text.

The wanted ratio, in one run on 600,000 characters, is at most 3; it is written to `extra_info` and shown, not asserted,
as a busy machine must not fail a build.
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

_NODE_LINE = re.compile(r'^( *)- ([A-Za-z][A-Za-z0-9_-]*)(?: ("(?:[^"\\]|\\.)*"))?(?: \[([^\]]*)\])?(.*)$')
"""A node line in groups: indent, role, name, bracket list, remainder."""

_SHAPES = (
    *['StaticText "{name}"'] * 7,
    *['link "{name}" [ref=e{n}]'] * 5,
    *["generic"] * 3,
    'heading "{name}" [level=2, ref=e{n}]',
    'button "{name}" [ref=e{n}]',
    "listitem [level=1]",
    "paragraph",
    'generic "{name}" [ref=e{n}] clickable [cursor:pointer]',
)
_WORDS = ("order", "status", "customer", "total", "pending", "review", "shipped", "account", "settings", "invoice")
_MAX_DEPTH = 8


@pytest.fixture(scope="module")
def snapshot() -> str:
    """Native text of a large page in the usual mix: text, links, headings, boxes, a ref on four lines of ten."""
    source = random.Random(1)
    lines: list[str] = []
    chars = depth = 0
    while chars < _CHARS:
        name = " ".join(source.choices(_WORDS, k=source.randint(2, 5)))
        content = source.choice(_SHAPES).format(name=name, n=len(lines))
        depth = max(0, min(_MAX_DEPTH, depth + source.choice((-1, 0, 0, 1))))
        lines.append("  " * depth + "- " + content)
        chars += len(lines[-1]) + 1
    return "\n".join(lines)[:_CHARS]


def _match_lines(text: str) -> None:
    for line in text.split("\n"):
        _NODE_LINE.match(line)


def _fastest_ms(work: Callable[[str], object], text: str) -> float:
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work(text)
        times.append(time.perf_counter() - start)
    return min(times) * 1_000


@pytest.mark.benchmark(group="conservative formatter, 600,000 characters")
def test_conservative(benchmark: BenchmarkFixture, snapshot: str) -> None:
    benchmark.extra_info["ratio_to_regex"] = round(
        _fastest_ms(compact, snapshot) / _fastest_ms(_match_lines, snapshot), 2
    )
    compacted = benchmark(compact, snapshot)
    assert not compacted.verbatim


@pytest.mark.benchmark(group="conservative formatter, 600,000 characters")
def test_bare_regex(benchmark: BenchmarkFixture, snapshot: str) -> None:
    benchmark(_match_lines, snapshot)
