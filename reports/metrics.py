"""Tables of a run: one for each target, one line for each suite and arm.

Invariants: targets are never pooled; medians are taken over the known values of completed comparisons and stand beside
the count of those values; a median of nothing is NA. There is no percentile beyond the median and the maximum,
because a run has too few samples for one.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

import pandas as pd

from reports.row import NOT_COMPARABLE, STAGES, Outcome, Row
from reports.text import finite

_NESTED = ("stages", "usage", "platform")
_USAGE = ("input_uncached", "cache_read", "cache_write", "output", "total")
_STAGE_PARTS = ("n", "sum_ms", "median_ms", "max_ms")

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number of a row. `digits` are the decimals that it is shown with (None: three figures)."""

    name: str
    label: str
    unit: str
    digits: int | None
    value: Callable[[Row], float | None]


def _usage_total(row: Row) -> float | None:
    return None if row.usage is None else row.usage.total


CHARS = Measure(name="obs_chars", label="Characters", unit="chars", digits=0, value=lambda r: r.obs_chars)
BYTES = Measure(name="obs_utf8_bytes", label="UTF-8 bytes", unit="bytes", digits=0, value=lambda r: r.obs_utf8_bytes)
ESTIMATE = Measure(name="est_tokens", label="Estimated tokens", unit="tokens", digits=0, value=lambda r: r.est_tokens)
USAGE = Measure(name="usage_total", label="Recorded tokens", unit="tokens", digits=0, value=_usage_total)
WALL = Measure(
    name="wall_excl_approval_s",
    label="Wall time without approval",
    unit="s",
    digits=2,
    value=lambda r: finite(r.wall_excl_approval_s),
)
CALLS = Measure(name="calls", label="Calls", unit="calls", digits=0, value=lambda r: r.calls)
OBSERVATIONS = Measure(name="observations", label="Observations", unit="", digits=0, value=lambda r: r.observations)
REFUSALS = Measure(name="refusals", label="Refusals", unit="", digits=0, value=lambda r: r.refusals)
MEASURES = (CHARS, BYTES, ESTIMATE, USAGE, WALL, CALLS, OBSERVATIONS, REFUSALS)


def stage_measure(stage: str) -> Measure:
    """The median time of one stage inside a trial, in milliseconds."""

    def value(row: Row) -> float | None:
        time = row.stages.get(stage)
        return None if time is None or time.n == 0 else finite(time.median)

    return Measure(name=f"stage_{stage}_median_ms", label=f"Stage {stage}", unit="ms", digits=None, value=value)


def comparable(row: Row) -> bool:
    """Whether the trial is a completed comparison: no fault around it hides how the arm did."""
    return row.outcome not in NOT_COMPARABLE


def succeeded(row: Row) -> bool:
    """Only `completed` with a true read-back is a success."""
    return row.outcome == "completed" and row.success is True


def stage_names(rows: Iterable[Row]) -> tuple[str, ...]:
    """The known stages in their order, then any other that a row has."""
    extra = {name for row in rows for name in row.stages} - set(STAGES)
    return (*STAGES, *sorted(extra))


def arm_order(rows: Iterable[Row], arms: Sequence[str] = ()) -> tuple[str, ...]:
    """The arms as the manifest names them, then those that only rows have, by first appearance."""
    return tuple(dict.fromkeys((*arms, *(row.arm for row in rows))))


def median(values: Iterable[float | None]) -> tuple[float | None, int]:
    """The median of the known values (None if there is none) and how many are known."""
    known = [value for value in values if value is not None]
    return (float(statistics.median(known)) if known else None), len(known)


def summary(rows: Sequence[Row], arms: Sequence[str] = ()) -> dict[str, pd.DataFrame]:
    """One table for each target; lines are (suite, arm), arms in the order of `arms`, suites and targets by name.

    Columns: suite, arm, started, compared, succeeded, outcome_X; for each measure M: M_median and M_known;
    est_encoding; facts_kept, facts_total, facts_known (sums over the trials that scored facts, and their number);
    for each stage S: stage_S_median_ms (median of the trials' medians), stage_S_max_ms and stage_S_known.
    """
    order = arm_order(rows, arms)
    stages = stage_names(rows)
    tables = {}
    for target in sorted({row.target for row in rows}):
        here = [row for row in rows if row.target == target]
        keys = sorted({(row.suite, order.index(row.arm)) for row in here})
        groups = [[row for row in here if (row.suite, row.arm) == (suite, order[index])] for suite, index in keys]
        tables[target] = _typed(pd.DataFrame([_line(group, stages) for group in groups]))
    return tables


def flatten(row: Row, stages: Sequence[str] = STAGES) -> dict[str, Cell]:
    """Every field of a row as one flat mapping; lists joined by " | ", units in the names of nested fields."""
    flat: dict[str, Cell] = {}
    for name, value in row.model_dump(exclude=set(_NESTED)).items():
        flat[name] = " | ".join(value) if isinstance(value, list) else value
        if isinstance(value, float):
            flat[name] = finite(value)
    for part in _USAGE:
        flat[f"usage_{part}"] = getattr(row.usage, part, None)
    flat["platform_os"] = row.platform.os if row.platform else None
    flat["platform_architecture"] = row.platform.architecture if row.platform else None
    for stage in stages:
        time = row.stages.get(stage)
        parts = (time.n, time.sum, time.median, time.max) if time else (None,) * len(_STAGE_PARTS)
        for part, value in zip(_STAGE_PARTS, parts, strict=True):
            flat[f"stage_{stage}_{part}"] = finite(value)
    return flat


def flat_names(stages: Sequence[str] = STAGES) -> list[str]:
    """The keys of `flatten`, in its order."""
    return [
        *(name for name in Row.model_fields if name not in _NESTED),
        *(f"usage_{part}" for part in _USAGE),
        *("platform_os", "platform_architecture"),
        *(f"stage_{stage}_{part}" for stage in stages for part in _STAGE_PARTS),
    ]


def _line(group: list[Row], stages: Sequence[str]) -> dict[str, Cell]:
    compared = [row for row in group if comparable(row)]
    line: dict[str, Cell] = {"suite": group[0].suite, "arm": group[0].arm}
    line |= {"started": len(group), "compared": len(compared), "succeeded": sum(map(succeeded, group))}
    line |= {f"outcome_{name}": sum(row.outcome == name for row in group) for name in OUTCOMES}
    for measure in MEASURES:
        line[f"{measure.name}_median"], line[f"{measure.name}_known"] = median(map(measure.value, compared))
    encodings = sorted({row.est_encoding or "unnamed" for row in compared if row.est_tokens is not None})
    line["est_encoding"] = ", ".join(encodings) or None
    if len(encodings) > 1:
        # Counts of two encodings are two units: no number can stand for both.
        line["est_tokens_median"] = None
    facts = [(r.facts_kept, r.facts_total) for r in compared if r.facts_kept is not None and r.facts_total is not None]
    line["facts_kept"] = sum(kept for kept, _ in facts) if facts else None
    line["facts_total"] = sum(total for _, total in facts) if facts else None
    line["facts_known"] = len(facts)
    for stage in stages:
        name = f"stage_{stage}"
        line[f"{name}_median_ms"], line[f"{name}_known"] = median(map(stage_measure(stage).value, compared))
        peaks = [finite(row.stages[stage].max) for row in compared if stage in row.stages and row.stages[stage].n]
        line[f"{name}_max_ms"] = max((peak for peak in peaks if peak is not None), default=None)
    return line


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    # Nullable types, so that a column of unknowns stays NA and a count stays a whole number.
    kinds = {}
    for name in table.columns:
        if name in ("suite", "arm", "est_encoding"):
            kinds[name] = "string"
        elif name.endswith(("_median", "_ms")):
            kinds[name] = "Float64"
        else:
            kinds[name] = "Int64"
    return table.astype(kinds)
