"""Writes the reports of a run's folder; a reader never meets a half-written file."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reports.html import html_report
from reports.load import Run, load_run
from reports.tables import csv_rows, json_report, markdown_report

Format = Literal["html", "md", "csv", "json"]

_RENDERERS: dict[Format, Callable[[Run], str]] = {
    "html": html_report,
    "md": markdown_report,
    "csv": csv_rows,
    "json": json_report,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPaths:
    """Where the reports of a run were written."""

    html: Path
    markdown: Path
    csv: Path


def render(folder: Path, format: Format) -> str:
    """The report of a run's folder as text.

    Raises:
        ReportError: the folder or its manifest cannot be read.
        RowError: a line of rows.jsonl is not a row.
    """
    return _RENDERERS[format](load_run(folder))


def write_reports(folder: Path) -> ReportPaths:
    """Write report.html, report.md and rows.csv into the run's folder, each whole or not at all.

    Raises:
        ReportError: the folder or its manifest cannot be read.
        RowError: a line of rows.jsonl is not a row.
        OSError: a file cannot be written; the earlier version of it is untouched.
    """
    run = load_run(folder)
    paths = ReportPaths(html=folder / "report.html", markdown=folder / "report.md", csv=folder / "rows.csv")
    for path, text in (
        (paths.html, html_report(run)),
        (paths.markdown, markdown_report(run)),
        (paths.csv, csv_rows(run)),
    ):
        _replace(path, text)
    return paths


def _replace(path: Path, text: str) -> None:
    # In the same folder, because a rename is atomic only inside one file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
