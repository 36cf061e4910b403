"""Paired comparison of two arms: the trials of one block and repeat are a pair.

A difference is always second arm minus first arm, so a positive one means that the second is larger. A block
in which either arm has no completed comparison gives no difference; it is counted with its reason.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from reports.manifest import Manifest
from reports.metrics import (
    BYTES,
    CHARS,
    ESTIMATE,
    WALL,
    Measure,
    arm_order,
    comparable,
    median,
    stage_measure,
    stage_names,
    succeeded,
)
from reports.row import Row

INTERVAL_FROM = 20
"""Pairs below which no interval is worth printing: the tails of a resample would rest on one or two pairs."""

_Key = tuple[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Paired differences of one measure, in its unit. `n` pairs have it known on both sides, `unknown` have not."""

    measure: Measure
    n: int
    unknown: int
    median: float | None
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two arms on one suite. `excluded` are reasons and how many blocks each took out."""

    suite: str
    first: str
    second: str
    blocks: int
    excluded: tuple[tuple[str, int], ...]
    both: int
    only_first: int
    only_second: int
    neither: int
    unfinished: int
    differences: tuple[Difference, ...]

    @property
    def interval(self) -> str:
        """Why no interval stands beside the differences."""
        if self.blocks < INTERVAL_FROM:
            return f"n = {self.blocks} is too small for an interval"
        return f"n = {self.blocks}; no interval is computed"


def compare(rows: Sequence[Row], manifest: Manifest) -> tuple[Pair, ...]:
    """Each pair of arms of one target that share a block, by suite.

    The arm that the manifest names earlier is the first of its pairs. Arms of two targets are never paired.
    """
    members = _members(rows, manifest)
    order = arm_order(rows, manifest.arms)
    pairs = []
    for suite in sorted({suite for suite, _ in members}):
        blocks = {key: arms for (name, key), arms in members.items() if name == suite}
        for first, second in combinations(order, 2):
            together = any(first in arms and second in arms for arms in blocks.values())
            if together and target_of(first) == target_of(second):
                keys = [key for key, arms in blocks.items() if first in arms or second in arms]
                pairs.append(_pair([row for row in rows if row.suite == suite], keys, (suite, first, second)))
    return tuple(pairs)


def target_of(arm: str) -> str:
    """The target in DRIVER/TARGET/FORMATTER; empty if the name has no such part."""
    parts = arm.split("/")
    return parts[1] if len(parts) > 1 else ""


def _members(rows: Sequence[Row], manifest: Manifest) -> dict[tuple[str, _Key], set[str]]:
    """The arms of each block of each suite: those that were planned and those that have a row."""
    members: dict[tuple[str, _Key], set[str]] = {}
    for plan in manifest.schedule:
        members.setdefault((plan.suite, (plan.block_id, plan.repeat)), set()).add(plan.arm)
    for row in rows:
        members.setdefault((row.suite, (row.block_id, row.repeat)), set()).add(row.arm)
    return members


def _pair(rows: Sequence[Row], keys: Sequence[_Key], names: tuple[str, str, str]) -> Pair:
    suite, first, second = names
    pairs: list[tuple[Row, Row]] = []
    excluded: Counter[str] = Counter()
    for key in keys:
        left, right = (_of_block(rows, key, arm) for arm in (first, second))
        if isinstance(left, Row) and isinstance(right, Row):
            pairs.append((left, right))
        else:
            excluded["; ".join(side for side in (left, right) if isinstance(side, str))] += 1
    wins = Counter((succeeded(left), succeeded(right)) for left, right in pairs)
    measures = (CHARS, BYTES, ESTIMATE, WALL, *map(stage_measure, stage_names(rows)))
    return Pair(
        suite=suite,
        first=first,
        second=second,
        blocks=len(pairs),
        excluded=tuple(sorted(excluded.items())),
        both=wins[True, True],
        only_first=wins[True, False],
        only_second=wins[False, True],
        neither=wins[False, False],
        unfinished=sum(any(row.outcome != "completed" for row in pair) for pair in pairs),
        differences=tuple(_difference(measure, pairs) for measure in measures),
    )


def _of_block(rows: Sequence[Row], key: _Key, arm: str) -> Row | str:
    """The one completed comparison of an arm in a block, or why there is none."""
    here = [row for row in rows if (row.block_id, row.repeat) == key and row.arm == arm]
    usable = [row for row in here if comparable(row)]
    match usable:
        case [row]:
            return row
        case []:
            outcomes = sorted({row.outcome for row in here})
            return f"{arm}: {', '.join(outcomes) if outcomes else 'not run'}"
        case _:
            return f"{arm}: {len(usable)} rows in one block"


def _difference(measure: Measure, pairs: Sequence[tuple[Row, Row]]) -> Difference:
    known = []
    for left, right in pairs:
        before, after = measure.value(left), measure.value(right)
        # Estimates of two encodings are two units.
        same_unit = measure is not ESTIMATE or left.est_encoding == right.est_encoding
        if before is not None and after is not None and same_unit:
            known.append(float(after - before))
    middle, n = median(known)
    return Difference(
        measure=measure,
        n=n,
        unknown=len(pairs) - n,
        median=middle,
        minimum=min(known, default=None),
        maximum=max(known, default=None),
    )
