"""The tables of paired differences: each arm against the others of its target, block by block."""

from collections.abc import Sequence
from itertools import groupby

from reports.compare import Difference, Pair, compare, target_of
from reports.load import Run
from reports.metrics import MEASURES, Measure
from reports.text import UNKNOWN, known, number, signed
from reports.views import Table


def comparison_tables(run: Run) -> tuple[tuple[Table, ...], tuple[Table, ...]]:
    """Paired tables by suite and first arm: those against the baseline, then all others."""
    pairs = compare(run.rows, run.manifest)
    baselines = _baselines(run)
    against: list[Table] = []
    others: list[Table] = []
    for (suite, first), group in groupby(pairs, key=lambda pair: (pair.suite, pair.first)):
        (against if first in baselines else others).append(_comparison(suite, first, list(group)))
    return tuple(against), tuple(others)


def _baselines(run: Run) -> set[str]:
    """The first arm of each target: two targets are not pooled, so each has its own."""
    first: dict[str, str] = {}
    for arm in run.manifest.arms or [row.arm for row in run.rows]:
        first.setdefault(target_of(arm), arm)
    return set(first.values())


def _comparison(suite: str, first: str, pairs: Sequence[Pair]) -> Table:
    lines = [
        ("Pairs", *(number(pair.blocks) for pair in pairs)),
        ("Blocks left out", *(_excluded(pair) for pair in pairs)),
        ("Both succeeded", *(number(pair.both) for pair in pairs)),
        ("Only the first arm", *(number(pair.only_first) for pair in pairs)),
        ("Only the other arm", *(number(pair.only_second) for pair in pairs)),
        ("Neither", *(number(pair.neither) for pair in pairs)),
    ]
    for index, difference in enumerate(pairs[0].differences):
        same = [pair.differences[index] for pair in pairs]
        if any(each.n for each in same) or difference.measure in MEASURES:
            lines.append((_label(difference.measure), *(_difference(each) for each in same)))
    lines.append(("Interval", *(pair.interval for pair in pairs)))
    return Table(
        title=f"{suite}: against {first}",
        headers=("Other arm minus first arm", *(pair.second for pair in pairs)),
        rows=tuple(lines),
        text_columns=1,
        note="Median of the paired differences [smallest to largest]; positive: the other arm needs more.",
    )


def _label(measure: Measure) -> str:
    # Sizes carry their unit in their name.
    return f"{measure.label}, {measure.unit}" if measure.unit in ("s", "ms") else measure.label


def _excluded(pair: Pair) -> str:
    if not pair.excluded:
        return "0"
    reasons = ", ".join(f"{times} x {reason}" for reason, times in pair.excluded)
    return f"{sum(times for _, times in pair.excluded)} ({reasons})"


def _difference(difference: Difference) -> str:
    if difference.median is None:
        return UNKNOWN
    digits = difference.measure.digits
    middle, low, high = (signed(value, digits) for value in (difference.median, difference.minimum, difference.maximum))
    return known(f"{middle} [{low} to {high}]", difference.n, difference.n + difference.unknown)
