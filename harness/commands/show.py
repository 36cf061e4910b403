"""What the command line shows: tables, progress, and page text made safe for a terminal."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from formatters.escape import plain_lines
from harness.doctor import Check
from harness.trial.tasks import Task
from reports.row import Row

PIPED_WIDTH = 120
"""Columns of a table that is not shown on a terminal."""

err = Console(stderr=True, highlight=False)
out = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def print_text(text: str) -> None:
    """Page text on stdout: exact where it is piped; on a terminal without characters that would drive it."""
    if sys.stdout.isatty():
        text = plain_lines(text)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def checks_table(checks: Sequence[Check]) -> Table:
    """The doctor's findings."""
    table = Table("what", "", "version", box=None, pad_edge=False)
    for header in ("detail", "to bring it"):
        table.add_column(header, overflow="fold")
    for check in checks:
        mark = Text("ok", "green") if check.ok else Text("missing", "red" if check.required else "yellow")
        table.add_row(check.name, mark, check.version or "", Text(check.detail), Text(check.remedy or ""))
    return table


def tasks_table(tasks: Sequence[Task]) -> Table:
    """Suites and tasks, with their limits and the first line of the goal."""
    table = Table("task", "facts", "calls", "seconds", "goal", box=None, pad_edge=False)
    for task in tasks:
        goal = Text(task.goal.strip().partition("\n")[0], overflow="ellipsis", no_wrap=True)
        table.add_row(task.key, str(len(task.facts)), str(task.limits.calls), f"{task.limits.seconds:g}", goal)
    return table


class TrialProgress:
    """A progress bar over trials; without a terminal a line for each trial that ended."""

    def __init__(self, progress: Progress, total: int, done: int) -> None:
        self._progress = progress
        self._task = progress.add_task("trials", total=total, completed=done, last="")
        self._live = err.is_terminal
        self._done, self._total = done, total

    def ended(self, row: Row) -> None:
        """Tell that a trial ended, and how."""
        self._done += 1
        seconds = "" if row.wall_s is None else f" {row.wall_s:.1f} s"
        if self._live:
            self._progress.update(self._task, advance=1, last=f"{row.task} {row.formatter}: {row.outcome}")
        else:
            said = f"{row.suite}/{row.task} {row.arm}: {row.outcome}{seconds}"
            err.print(f"{self._done}/{self._total} {said}", markup=False, soft_wrap=True)


@contextmanager
def trial_progress(total: int, done: int) -> Iterator[TrialProgress]:
    """The progress of a run, on stderr; `done` trials already have their row."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns,
        TextColumn("{task.fields[last]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=err,
        disable=not err.is_terminal,
    ) as progress:
        yield TrialProgress(progress, total, done)
