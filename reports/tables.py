"""Draws tables for the terminal, as markdown, as CSV and as JSON."""

import csv
import io
import json
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from reports.caveats import caveats
from reports.compare import Pair, compare
from reports.load import Run
from reports.metrics import Cell, flat_names, flatten, stage_names, summary
from reports.paired import comparison_tables
from reports.text import markdown, one_line
from reports.views import Table, failure_table, overview, records, target_views

_NAMES = 2
"""Text columns of a table whose text is names only: suite and arm."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def terminal(run: Run) -> list[RenderableType]:
    """What the terminal shows after a run: one table a target, and the trials that did not succeed."""
    shown: list[RenderableType] = []
    shown.extend(_rich(table, table.title) for table in overview(run))
    failed = failure_table(run.rows)
    if failed.rows:
        shown.append(_rich(failed, failed.title))
    if not run.rows:
        shown.append(Text("No trial has a row yet."))
    shown.extend(Text(one_line(note)) for note in run.notes)
    return shown


def markdown_report(run: Run) -> str:
    """report.md: failures first, then tables for each target, paired comparisons, deviations and limits."""
    manifest = run.manifest
    lines = ["# Comparative trial", "", *_facts(run)]
    failed = failure_table(run.rows)
    lines += ["", "## Failures", ""]
    lines += _markdown(failed) if failed.rows else [_no_failures(run)]
    for view in target_views(run):
        lines += ["", f"## Target {markdown(view.target)}"]
        for table in view.tables:
            lines += ["", f"### {markdown(table.title)}", "", *_markdown(table)]
    against, others = comparison_tables(run)
    lines += ["", "## Paired comparisons"]
    for table in (*against, *others):
        lines += ["", f"### {markdown(table.title)}", "", *_markdown(table)]
    lines += [] if against or others else ["", "No two arms share a block."]
    trial = [f"{row.trial_id}: {text}" for row in run.rows for text in row.deviations]
    lines += ["", "## Deviations", "", *_bullets([*manifest.deviations, *trial, *run.notes])]
    lines += ["", "## What this run cannot tell", "", *_bullets(caveats(run)), ""]
    return "\n".join(lines)


def csv_rows(run: Run) -> str:
    """rows.csv: every field of every row; an empty cell is not known.

    Text that a spreadsheet would take for a formula starts with an apostrophe.
    """
    stages = stage_names(run.rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(flat_names(stages))
    for row in run.rows:
        writer.writerow([_csv_cell(value) for value in flatten(row, stages).values()])
    return out.getvalue()


def json_report(run: Run) -> str:
    """One JSON object: manifest, notes, rows, summary by target, comparisons and limits; null is not known."""
    data = {
        "manifest": dict(run.manifest.data),
        "notes": run.notes,
        "rows": [json.loads(row.model_dump_json()) for row in run.rows],
        "summary": {name: records(table) for name, table in summary(run.rows, run.manifest.arms).items()},
        "comparisons": [_pair(pair) for pair in compare(run.rows, run.manifest)],
        "cannot_tell": caveats(run),
    }
    return json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _facts(run: Run) -> list[str]:
    manifest = run.manifest
    versions = ", ".join(f"{name} {version or 'unknown'}" for name, version in manifest.versions)
    facts = (
        ("Arms", ", ".join(manifest.arms)),
        ("Tasks", ", ".join(f"{task.suite}/{task.name}" for task in manifest.tasks)),
        ("Model", manifest.text("model")),
        ("Machine", manifest.machine),
        ("Versions", versions),
        ("Container image", manifest.text("image") or "none recorded"),
        ("Protocol and seed", f"{manifest.text('protocol') or 'unknown'}, {manifest.text('seed') or 'unknown'}"),
        ("Made", manifest.text("created_at")),
        ("Rows", str(len(run.rows))),
    )
    return [f"- {name}: {markdown(value or 'unknown')}" for name, value in facts]


def _no_failures(run: Run) -> str:
    return "None: every trial completed and succeeded." if run.rows else "No trial has a row yet."


def _bullets(sentences: Iterable[str]) -> list[str]:
    return [f"- {markdown(sentence)}" for sentence in sentences] or ["None recorded."]


def _markdown(table: Table) -> list[str]:
    rule = ["---"] * table.text_columns + ["---:"] * (len(table.headers) - table.text_columns)
    lines = [[markdown(cell) for cell in cells] for cells in (table.headers, *table.rows)]
    lines.insert(1, rule)
    drawn = [f"| {' | '.join(cells)} |" for cells in lines]
    return [*drawn, "", table.note] if table.note else drawn


def _rich(table: Table, title: str) -> RichTable:
    # Text objects, because page text in a plain string would be read as console markup.
    drawn = RichTable(
        title=Text(one_line(title)),
        caption=Text(table.note) if table.note else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        caption_justify="left",
    )
    for index, header in enumerate(table.headers):
        text = index < table.text_columns
        # Names stay whole where a table leads with them; the numbers beside them may wrap.
        whole = text and table.text_columns <= _NAMES
        drawn.add_column(Text(one_line(header)), justify="left" if text else "right", no_wrap=whole, overflow="fold")
    for cells in table.rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in cells))
    return drawn


def _csv_cell(value: Cell) -> Cell:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _pair(pair: Pair) -> dict[str, object]:
    return {
        "suite": pair.suite,
        "first": pair.first,
        "second": pair.second,
        "blocks": pair.blocks,
        "excluded": dict(pair.excluded),
        "success": {
            "both": pair.both,
            "only_first": pair.only_first,
            "only_second": pair.only_second,
            "neither": pair.neither,
        },
        "interval": pair.interval,
        "differences": {
            each.measure.name: {
                "unit": each.measure.unit,
                "n": each.n,
                "unknown": each.unknown,
                "median": each.median,
                "min": each.minimum,
                "max": each.maximum,
            }
            for each in pair.differences
        },
    }
