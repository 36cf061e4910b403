"""The end of `axtrial run` and the whole of `axtrial report`: the report's files, and its table in the terminal."""

from pathlib import Path

from harness.commands import show
from harness.config import load_settings, quiet_matplotlib


def show_report(folder: Path, *, as_json: bool) -> bool:
    """Write the report's files and show the table; whether every trial was completed with success.

    Raises:
        ReportError, RowError: the folder holds no run, or one that cannot be read.
    """
    quiet_matplotlib(load_settings())
    from reports.load import load_run  # pandas and matplotlib take 0.7 s to import
    from reports.tables import json_report, terminal
    from reports.write import write_reports

    paths = write_reports(folder)
    loaded = load_run(folder)
    if as_json:
        show.print_text(json_report(loaded))
    else:
        for part in terminal(loaded):
            show.out.print(part)
    show.err.print(f"report: {paths.html}", markup=False, soft_wrap=True)
    return all(row.outcome == "completed" and row.success for row in loaded.rows)
