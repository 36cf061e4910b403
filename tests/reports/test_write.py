"""Reports on disk: whole or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reports.errors import RunFolderError
from reports.row import Row
from reports.write import Format, ReportPaths, render, write_reports


def test_three_files_and_nothing_else(rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows)
    before = {path.name for path in folder.iterdir()}
    paths = write_reports(folder)
    assert paths == ReportPaths(html=folder / "report.html", markdown=folder / "report.md", csv=folder / "rows.csv")
    assert {path.name for path in folder.iterdir()} == before | {"report.html", "report.md", "rows.csv"}
    assert [path.read_bytes().decode() for path in (paths.html, paths.markdown, paths.csv)] == [
        render(folder, "html"),
        render(folder, "md"),
        render(folder, "csv"),
    ]


def test_a_file_that_cannot_be_replaced_leaves_no_rest(rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows)
    (folder / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write_reports(folder)
    assert [path.name for path in folder.glob(".*")] == []


@pytest.mark.parametrize("form", ["html", "md", "csv", "json"])
@pytest.mark.parametrize("outcome", [None, "completed", "interrupted"])
def test_any_run_can_be_drawn(
    form: Format, outcome: str | None, make_row: Callable[..., Row], write_run: Callable[..., Path]
) -> None:
    rows = [] if outcome is None else [make_row(outcome=outcome, success=None)]
    assert render(write_run(rows), form)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError):
        render(tmp_path / "gone", "html")
