"""`audit`: the record of calls as lines or as JSON. Everything in it that a bot chose is escaped."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from formatters.escape import one_line
from harness.config import Settings
from harness.errors import quoted
from harness.host.audit import BEGUN, AuditRow, audit_file, read_audit

LAST = 100
MAX_LAST = 100_000
"""Rows that are held in memory: at most some tens of megabytes."""

HEADERS = ("at (UTC)", "bot", "session", "tool", "summary", "outcome", "ms", "error")
INDENT = 4
"""Columns by which what stands below a call is set in."""

NO_END = "begun, no end recorded"

_TERMINAL = re.compile("[\x7f-\x9f]")
"""What a terminal obeys and a line of text may otherwise hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCalls:
    """Calls, newest last, and a sentence on what is not among them."""

    rows: tuple[AuditRow, ...]
    note: str | None


def recorded_calls(settings: Settings, last: int, bot: str | None, session: str | None) -> RecordedCalls:
    """The latest `last` calls of the bot and the session, where they are named.

    Raises:
        AuditUnreadable: the record cannot be read, is damaged, or is of another version.
    """
    found = read_audit(settings.state_dir, last, bot, session)
    if found is None:
        path = quoted(str(audit_file(settings.state_dir)))
        return RecordedCalls(rows=(), note=f"no call was recorded yet: there is no {path}")
    note = None
    if not found.total:
        note = "no such call is recorded" if bot is not None or session is not None else "no call was recorded yet"
    elif len(found.rows) < found.total:
        note = f"the last {len(found.rows)} of {found.total} calls; --last N shows more"
    return RecordedCalls(rows=found.rows, note=note)


def calls_json(rows: Sequence[AuditRow]) -> str:
    """A list of objects in ASCII, so that nothing in it drives a terminal."""
    return json.dumps([row.model_dump() for row in rows], indent=2)


def print_calls(console: Console, rows: Sequence[AuditRow]) -> None:
    """One line a call; times in UTC. No line is wrapped where it goes to a file or a program.

    On a terminal too narrow for the lines, what was asked for and the error stand below each call, wrapped.
    """
    calls = [_cells(row) for row in rows]
    lines = _aligned([tuple(Text(header, "bold") for header in HEADERS), *calls])
    if console.is_terminal and max(line.cell_len for line in lines) > console.width:
        for call in calls:
            _print_below(console, call)
    else:
        console.print(Text("\n").join(lines), soft_wrap=True)


def _cells(row: AuditRow) -> tuple[Text, ...]:
    at = row.at.removesuffix("+00:00").replace("T", " ")
    duration = "" if row.duration_ms is None else f"{row.duration_ms:.1f}"
    named = (Text(_shown(text)) for text in (at, row.bot, row.session, row.tool, row.summary))
    return (*named, _outcome(row.outcome), Text(duration), Text(_shown(row.error or "")))


def _aligned(rows: Sequence[tuple[Text, ...]]) -> list[Text]:
    """Each row as one line, its cells in columns as wide as their longest."""
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        line = Text()
        for header, cell, width in zip(HEADERS, row, widths, strict=True):
            blanks = " " * (width - cell.cell_len)
            line.append_text(Text(blanks) + cell if header == "ms" else cell + Text(blanks)).append("  ")
        line.rstrip()
        lines.append(line)
    return lines


def _print_below(console: Console, call: tuple[Text, ...]) -> None:
    """One call over several lines: who, when and how it ended; below it what was asked for, and the error."""
    at, bot, session, tool, summary, outcome, duration, error = call
    head = [at, bot, session, tool, outcome, duration + Text(" ms") if duration else duration]
    console.print(Text("  ").join(part for part in head if part), overflow="fold")
    for part in (summary, error):
        if part:
            console.print(Padding(part, (0, 0, 0, INDENT)), overflow="fold")


def _outcome(outcome: str) -> Text:
    if outcome == BEGUN:
        return Text(NO_END, "yellow")
    return Text(_shown(outcome), "green" if outcome == "ok" else "red")


def _shown(text: str) -> str:
    return _TERMINAL.sub(lambda found: f"\\u{ord(found[0]):04x}", one_line(text))
