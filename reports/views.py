"""The tables of a report as plain text cells, drawn alike in the terminal, in markdown and in HTML.

Cells are not escaped here: each renderer escapes for its own medium.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.load import Run
from reports.metrics import (
    BYTES,
    CALLS,
    CHARS,
    ESTIMATE,
    OBSERVATIONS,
    OUTCOMES,
    REFUSALS,
    USAGE,
    WALL,
    stage_names,
    succeeded,
    summary,
)
from reports.row import Row
from reports.text import UNKNOWN, known, number

_LEAD = ("Suite", "Arm")
_SHORT = {
    CHARS: "Characters",
    BYTES: "UTF-8 bytes",
    ESTIMATE: "Est. tokens",
    USAGE: "Recorded tokens",
    WALL: "Wall s",
    CALLS: "Calls",
    OBSERVATIONS: "Observ.",
    REFUSALS: "Refusals",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table. The first `text_columns` columns are text, the others numbers; a `note` says what the cells are."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 2
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """The tables of one target; another target's are never mixed in."""

    target: str
    tables: tuple[Table, ...]


def target_views(run: Run) -> tuple[TargetView, ...]:
    """Outcomes, sizes, effort and stage times of each target."""
    stages = [stage for stage in stage_names(run.rows) if any(stage in row.stages for row in run.rows)]
    return tuple(
        TargetView(target=target, tables=_tables(records(table), stages))
        for target, table in summary(run.rows, run.manifest.arms).items()
    )


def overview(run: Run) -> tuple[Table, ...]:
    """One table a target, narrow enough for a terminal of 80 columns; the report has the rest."""
    return tuple(
        Table(
            title=f"Target {target}",
            headers=("Suite", "Driver", "Formatter", "ok", "chars", "~tokens", "facts", "wall", "read", "dom"),
            text_columns=3,
            rows=tuple(_overview_row(line) for line in records(table)),
            note="Medians of completed trials. chars, ~tokens: all observations of a trial; ~tokens is an estimate. "
            "wall: seconds of a trial; read, dom: ms of one observation's AX or text read, and of its action refs.",
        )
        for target, table in summary(run.rows, run.manifest.arms).items()
    )


def _overview_row(line: Mapping[str, Any]) -> tuple[str, ...]:
    kept = line["facts_kept"]
    driver, _, formatter = str(line["arm"]).split("/", 2)
    return (
        str(line["suite"]),
        driver,
        formatter,
        f"{line['succeeded']}/{line['started']}",
        *(number(_whole(line[f"{measure.name}_median"])) for measure in (CHARS, ESTIMATE)),
        UNKNOWN if kept is None else f"{kept}/{line['facts_total']}",
        number(line[f"{WALL.name}_median"], 2),
        number(_read_ms(line), None),
        number(line["stage_dom_median_ms"], None),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The lines of a summary as mappings, with None in place of NA."""
    return [_plain(line) for line in table.to_dict("records")]


def failures(rows: Iterable[Row]) -> list[Row]:
    """Each trial that is not a success, in the order of the ledger."""
    return [row for row in rows if not succeeded(row)]


def failure_table(rows: Iterable[Row]) -> Table:
    """Every trial that is not a success, with how it ended and what was said about it."""
    return Table(
        title="Trials that did not succeed",
        headers=("Trial", "Arm", "Task", "Outcome", "Error", "Calls", "Wall s"),
        rows=tuple(
            (
                row.trial_id,
                row.arm,
                f"{row.suite}/{row.task}",
                outcome_words(row),
                row.error or "none recorded",
                number(row.calls),
                number(row.wall_s, 2),
            )
            for row in failures(rows)
        ),
        text_columns=5,
    )


def outcome_words(row: Row) -> str:
    """The outcome, and whether a completed trial lacks its confirmation."""
    if row.outcome != "completed" or row.success is True:
        return row.outcome
    return "completed, not a success" if row.success is False else "completed, success unknown"


def _plain(line: Mapping[Hashable, Any]) -> dict[str, Any]:
    return {str(name): None if value is pd.NA else value for name, value in line.items()}


def _tables(lines: Sequence[Mapping[str, Any]], stages: Sequence[str]) -> tuple[Table, ...]:
    effort = (WALL, CALLS, OBSERVATIONS, REFUSALS)
    return (
        _glance_table(lines),
        _outcome_table(lines),
        Table(
            title="Size and tokens",
            headers=(*_LEAD, *(_SHORT[m] for m in (CHARS, BYTES, ESTIMATE)), "Encoding", _SHORT[USAGE], "Facts kept"),
            rows=tuple(_sizes(line) for line in lines),
            note="Medians over completed comparisons, all observations of a trial together. Estimated tokens are an "
            "estimate by the named encoding; only recorded tokens come from the model route.",
        ),
        Table(
            title="Time and effort",
            headers=(*_LEAD, *(_SHORT[measure] for measure in effort)),
            rows=tuple((*_names(line), *(_cell(line, m.name, m.digits) for m in effort)) for line in lines),
            note="Medians over completed comparisons. Wall time is without approval waits.",
        ),
        Table(
            title="Latency by stage, ms",
            headers=(*_LEAD, *stages),
            rows=tuple((*_names(line), *(_stage(line, stage) for stage in stages)) for line in lines),
            note="Median of the trials' medians / longest single sample. No percentile: too few samples.",
        ),
    )


_GLANCE_STAGES = ("dom", "format", "act", "settle")


def _glance_table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """What most readers come for, in one table; the others have the detail."""
    sizes = (CHARS, BYTES, ESTIMATE, USAGE)
    return Table(
        title="At a glance",
        headers=(
            *_LEAD,
            "Succeeded",
            *(_SHORT[measure] for measure in sizes),
            "AX or text read ms",
            "DOM read ms",
            *(f"{stage.capitalize()} ms" for stage in _GLANCE_STAGES[1:]),
            _SHORT[WALL],
        ),
        rows=tuple(
            (
                *_names(line),
                f"{line['succeeded']} of {line['started']}",
                *(_cell(line, measure.name, 0) for measure in sizes),
                number(_read_ms(line), None),
                *(number(line[f"stage_{stage}_median_ms"], None) for stage in _GLANCE_STAGES),
                _cell(line, WALL.name, WALL.digits),
            )
            for line in lines
        ),
        note="Medians over completed comparisons: sizes of all observations of a trial together, times of one call. "
        "The DOM read, which gives the action refs, is a cost beside that of the AX or text read.",
    )


def _read_ms(line: Mapping[str, Any]) -> float | None:
    """The time of the descriptive read: an arm makes one of the two."""
    ax: float | None = line["stage_ax_median_ms"]
    text: float | None = line["stage_text_median_ms"]
    return ax if ax is not None else text


def _outcome_table(lines: Sequence[Mapping[str, Any]]) -> Table:
    seen = [name for name in OUTCOMES if any(line[f"outcome_{name}"] for line in lines)]
    keys = ("started", "compared", "succeeded", *(f"outcome_{name}" for name in seen))
    words = (name.replace("_", " ").capitalize() for name in seen)
    return Table(
        title="Outcomes",
        headers=(*_LEAD, "Started", "Compared", "Succeeded", *words),
        rows=tuple((*_names(line), *(number(line[key]) for key in keys)) for line in lines),
        note="Number of trials. Compared: completed comparisons, so without faults around the trial.",
    )


def _names(line: Mapping[str, Any]) -> tuple[str, str]:
    return str(line["suite"]), str(line["arm"])


def _cell(line: Mapping[str, Any], name: str, digits: int | None) -> str:
    return known(number(line[f"{name}_median"], digits), line[f"{name}_known"], line["compared"])


def _sizes(line: Mapping[str, Any]) -> tuple[str, ...]:
    kept, total = line["facts_kept"], line["facts_total"]
    facts = UNKNOWN if kept is None else f"{number(kept)} of {number(total)}"
    return (
        *_names(line),
        *(_cell(line, measure.name, 0) for measure in (CHARS, BYTES, ESTIMATE)),
        line["est_encoding"] or UNKNOWN,
        _cell(line, USAGE.name, 0),
        known(facts, line["facts_known"], line["compared"]),
    )


def _stage(line: Mapping[str, Any], stage: str) -> str:
    middle, peak = line[f"stage_{stage}_median_ms"], line[f"stage_{stage}_max_ms"]
    if middle is None:
        return UNKNOWN
    return known(f"{number(middle, None)} / {number(peak, None)}", line[f"stage_{stage}_known"], line["compared"])
