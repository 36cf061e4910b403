"""`audit`: the record of calls as a table or as JSON. Everything in it that a bot chose is escaped."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from formatters.escape import one_line
from harness.config import Settings
from harness.errors import quoted
from harness.host.audit import BEGUN, AuditRow, audit_file, read_audit

LAST = 100
MAX_LAST = 100_000
"""Rows that are held in memory: at most some tens of megabytes."""

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


def calls_table(rows: Sequence[AuditRow]) -> Table:
    """One line a call; times in UTC."""
    table = Table(box=None, pad_edge=False)
    table.add_column("at (UTC)", overflow="fold", min_width=12)
    for header in ("bot", "session", "tool", "summary", "outcome"):
        table.add_column(header, overflow="fold")
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("error", overflow="fold")
    for row in rows:
        table.add_row(
            Text(_shown(row.at.removesuffix("+00:00").replace("T", " "))),
            *(Text(_shown(text)) for text in (row.bot, row.session, row.tool, row.summary)),
            _outcome(row.outcome),
            "" if row.duration_ms is None else f"{row.duration_ms:.1f}",
            Text(_shown(row.error or "")),
        )
    return table


def _outcome(outcome: str) -> Text:
    if outcome == BEGUN:
        return Text(NO_END, "yellow")
    return Text(_shown(outcome), "green" if outcome == "ok" else "red")


def _shown(text: str) -> str:
    return _TERMINAL.sub(lambda found: f"\\u{ord(found[0]):04x}", one_line(text))
