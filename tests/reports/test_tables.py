"""CSV, markdown, JSON and the terminal from the same rows."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from reports.load import load_run
from reports.metrics import flat_names, flatten
from reports.row import Row
from reports.tables import csv_rows, json_report, markdown_report, terminal


def _read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""], dtype_backend="numpy_nullable")


def test_csv_round_trip(rows: list[Row], write_run: Callable[..., Path]) -> None:
    table = _read(csv_rows(load_run(write_run(rows))))
    back = [
        {str(name): None if pd.isna(value) else value for name, value in line.items()}
        for line in table.to_dict("records")
    ]
    expected = []
    for row in rows:
        flat: dict[str, Any] = {name: None if value == "" else value for name, value in flatten(row).items()}
        # A column of digits alone reads back as numbers, whatever was meant.
        expected.append(flat | {"protocol": 1, "driver_version": 1.0, "browser_version": 140.0})
    assert back == expected


def test_csv_cells_are_no_formulas(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    row = make_row(error='=HYPERLINK("x")', task="-1+2", image="@a", started_at="+1", suite="\tq", wall_s=-1.5)
    table = pd.read_csv(io.StringIO(csv_rows(load_run(write_run([row])))), dtype=str)
    names = ["error", "task", "image", "started_at", "suite", "wall_s"]
    assert table[names].to_numpy().tolist() == [['\'=HYPERLINK("x")', "'-1+2", "'@a", "'+1", "'\tq", "-1.5"]]


def test_csv_without_rows_has_its_header(write_run: Callable[..., Path]) -> None:
    assert csv_rows(load_run(write_run([]))) == f"{','.join(flat_names())}\n"


def test_unknown_is_an_empty_cell(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    table = _read(csv_rows(load_run(write_run([make_row()]))))
    assert table[["calls", "usage_total", "stage_ax_median_ms", "obs_chars"]].isna().all().all()


def test_json_report(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    row = make_row(wall_s=1.5)
    data = json.loads(json_report(load_run(write_run([row]))))
    assert data["rows"] == [json.loads(row.model_dump_json())]
    assert data["summary"]["local"][0]["usage_total_median"] is None
    assert list(data) == ["manifest", "notes", "rows", "summary", "comparisons", "cannot_tell"]


def test_json_has_no_nan(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    folder = write_run([make_row()])
    line = (folder / "rows.jsonl").read_text().replace('"wall_s":null', '"wall_s":NaN')
    (folder / "rows.jsonl").write_text(line)

    def refuse(word: str) -> None:
        raise AssertionError(word)

    data = json.loads(json_report(load_run(folder)), parse_constant=refuse)
    assert data["rows"][0]["wall_s"] is None


def test_markdown_report(rows: list[Row], write_run: Callable[..., Path]) -> None:
    failed = rows[0].model_copy(update={"outcome": "wrong_result", "success": False, "error": "a|b <script>"})
    text = markdown_report(load_run(write_run([failed, *rows[1:]])))
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Failures",
        "## Target local",
        "## Paired comparisons",
        "## Deviations",
        "## What this run cannot tell",
    ]
    cells = ["notes.r1.page-text", "current/local/page-text", "notes/simple", "wrong\\_result"]
    assert f"| {' | '.join(cells)} | a\\|b &lt;script&gt; | 15 | 5.00 |" in text
    assert "| orders | current/local/structured | 6,015 | 6,018 | 1,501.5 | o200k\\_base | unknown | 24 of 24 |" in text


def test_terminal_reads_no_markup_from_text(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    row = make_row(outcome="wrong_result", success=False, error="[bold]x[/nope] \x1b[31m\u202e")
    console = Console(width=200, file=io.StringIO(), force_terminal=False)
    for part in terminal(load_run(write_run([row]))):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "[bold]x[/nope] \\u001b[31m\\u202e" in shown
    assert "\x1b" not in shown


def test_terminal_without_rows(write_run: Callable[..., Path]) -> None:
    assert [str(part) for part in terminal(load_run(write_run([])))] == ["No trial has a row yet."]
