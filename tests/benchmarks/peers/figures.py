"""What was measured, and what follows from it; pure."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One load of one page by one tool. Times in milliseconds; `tokens` is None where no encoding is at hand."""

    first_ms: float
    again_ms: float
    chars: int
    tokens: int | None
    kept: int
    kept_near: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """All rounds of one tool on one page: medians, and the least facts that a round kept. `fault`: why it broke off."""

    page: str
    tool: str
    rounds: int
    first_ms: float | None
    again_ms: float | None
    chars: int | None
    tokens: int | None
    kept: int | None
    kept_near: int | None
    fault: str | None


def cell(page: str, tool: str, samples: Sequence[Sample], fault: str | None) -> Cell:
    """The medians of the rounds; None, where there was no round."""
    tokens = [sample.tokens for sample in samples if sample.tokens is not None]
    return Cell(
        page=page,
        tool=tool,
        rounds=len(samples),
        first_ms=median(sample.first_ms for sample in samples),
        again_ms=median(sample.again_ms for sample in samples),
        chars=_whole(median(sample.chars for sample in samples)),
        tokens=_whole(median(tokens)),
        kept=min((sample.kept for sample in samples), default=None),
        kept_near=min((sample.kept_near for sample in samples), default=None),
        fault=fault,
    )


def median(values: Iterable[float]) -> float | None:
    """The median; None of nothing."""
    given = list(values)
    return statistics.median(given) if given else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """How many times faster ours is than the fastest peer on a page; None, where one of them is missing."""

    page: str
    peer_first: str | None
    first: float | None
    peer_again: str | None
    again: float | None


def lead(page: str, cells: Iterable[Cell], mine: str, peers: Sequence[str]) -> Lead:
    """Compare the cell of `mine` with the fastest of the peers, the first and the repeated snapshot each by itself."""
    here = {each.tool: each for each in cells if each.page == page and each.rounds}
    first = {name: here[name].first_ms for name in peers if name in here}
    again = {name: here[name].again_ms for name in peers if name in here}
    own = here.get(mine)
    peer_first, peer_again = _fastest(first), _fastest(again)
    return Lead(
        page=page,
        peer_first=peer_first,
        first=_ratio(first.get(peer_first or ""), own.first_ms if own else None),
        peer_again=peer_again,
        again=_ratio(again.get(peer_again or ""), own.again_ms if own else None),
    )


def _fastest(times: dict[str, float | None]) -> str | None:
    known = {name: time for name, time in times.items() if time is not None}
    return min(known, key=lambda name: known[name], default=None)


def _ratio(theirs: float | None, own: float | None) -> float | None:
    return None if theirs is None or not own else theirs / own


COLUMNS = ("page", "tool", "rounds", "first ms", "repeated ms", "characters", "est. tokens", "facts", "near facts")


def row(one: Cell, planted: int, near: int) -> tuple[str, ...]:
    """The cell as the table shows it."""
    facts = "-" if one.kept is None else f"{one.kept}/{planted}"
    near_facts = "-" if one.kept_near is None else f"{one.kept_near}/{near}"
    return (
        one.page,
        one.tool,
        str(one.rounds),
        *(_number(value) for value in (one.first_ms, one.again_ms, one.chars, one.tokens)),
        facts,
        near_facts,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; every column but the first two is aligned to the right."""
    rule = ["---" if number < 2 else "---:" for number in range(len(columns))]
    return "\n".join(f"| {' | '.join(each)} |" for each in (columns, rule, *rows))


def as_json(cells: Iterable[Cell], leads: Iterable[Lead]) -> dict[str, object]:
    """Plain data."""
    return {"cells": [asdict(each) for each in cells], "leads": [asdict(each) for each in leads]}
