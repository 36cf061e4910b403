"""The audit record: one row a call, in an SQLite file that survives a killed host and a full disk.

A call is recorded in two steps. `begin` commits a row with the outcome `begun` before anything is sent to a browser; if
that fails, the call must not be made. `end` completes the row. A host that is killed in between leaves `begun`.

Writing is synchronous on purpose: both steps together take some hundredths of a millisecond, less than handing them to
a thread, and a step that cannot be cancelled half-way leaves no doubt about what is recorded. Several threads and
several processes may write at once.
"""

import contextlib
import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import AxtrialError, UsageError, quoted
from harness.host.redact import MAX_SUMMARY_CHARS, cut

FOLDER = "audit"
"""Below the state folder: ours alone, so that its access rights can be set."""

FILE = "audit.sqlite3"

SCHEMA_VERSION = 1
APPLICATION_ID = 0x61787472
"""In the file's header (`axtr`): tells our files from other SQLite files."""

BEGUN = "begun"

MAX_NAME_CHARS = 80
"""Code points of a bot's or session's name."""

MAX_TOOL_CHARS = 40
MAX_OUTCOME_CHARS = 40
MAX_ERROR_CHARS = 200

BUSY_TIMEOUT_S = 1.0
"""How long one step waits for another process's; each of ours takes well under a millisecond."""

_SCHEMA = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    bot TEXT NOT NULL,
    session TEXT NOT NULL,
    tool TEXT NOT NULL,
    summary TEXT NOT NULL,
    outcome TEXT NOT NULL,
    duration_ms REAL,
    error TEXT
)
"""


class AuditError(AxtrialError):
    """The audit record could not be written; the call that was to be recorded must be refused."""


class AuditUnreadable(UsageError):
    """The file is no audit record, is damaged, or was written by another version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What is known of a call before it is made. Longer texts are cut with a mark: names at 80 code points, the tool
    at 40, the summary (of `harness.host.redact`) at 200.
    """

    bot: str
    session: str
    tool: str
    summary: str


class AuditLog:
    """The record in `state_dir`, open for writing inside a `with`; the folder (0700) and the file (0600) are made.

    Raises:
        AuditError: on entry, the folder or the file cannot be used, or the file is not of this version.
    """

    def __init__(self, state_dir: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = audit_file(state_dir)
        self._now = now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)

    def __enter__(self) -> Self:
        with _translated(self.path):
            _make_file(self.path)
            self._connection = _connected(self.path)
            self._file = _identity(self.path)
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with self._lock, contextlib.suppress(sqlite3.Error):  # rows are committed; closing only tidies up
                connection.close()

    def begin(self, entry: AuditEntry) -> int:
        """Record that a call is about to be made; the row's number.

        Raises:
            AuditError: nothing was recorded (disk full, file gone or busy, log closed); the call must not be made.
        """
        values = (
            self._now().astimezone(UTC).isoformat(timespec="milliseconds"),
            cut(entry.bot, MAX_NAME_CHARS),
            cut(entry.session, MAX_NAME_CHARS),
            cut(entry.tool, MAX_TOOL_CHARS),
            cut(entry.summary, MAX_SUMMARY_CHARS),
            BEGUN,
        )
        done = self._write(
            "INSERT INTO calls (at, bot, session, tool, summary, outcome) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        assert done.lastrowid is not None
        return done.lastrowid

    def end(self, number: int, outcome: str, duration_ms: float, error: str | None = None) -> None:
        """Complete the row: outcome (40 code points), duration, and one sentence of ours (200) on what went wrong.

        Raises:
            AuditError: the row stays `begun`: it cannot be written, or no such row is.
        """
        values = (
            cut(outcome, MAX_OUTCOME_CHARS),
            round(duration_ms, 3),
            None if error is None else cut(error, MAX_ERROR_CHARS),
            number,
            BEGUN,
        )
        done = self._write(
            "UPDATE calls SET outcome = ?, duration_ms = ?, error = ? WHERE id = ? AND outcome = ?", values
        )
        if done.rowcount != 1:
            raise AuditError(f"the audit record {quoted(str(self.path))} has no call {number} under way")

    def _write(self, statement: str, values: tuple[str | int | float | None, ...]) -> sqlite3.Cursor:
        with self._lock, _translated(self.path):
            if self._connection is None:
                raise AuditError(f"the audit record {quoted(str(self.path))} is closed")
            if _identity(self.path) != self._file:  # what is written to a deleted file is not recorded
                raise AuditError(f"the audit record {quoted(str(self.path))} was replaced by another file")
            return self._connection.execute(statement, values)


class AuditRow(BaseModel):
    """One recorded call. `at` is ISO 8601 in UTC; a null duration: no end was recorded."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    id: int
    at: Annotated[str, Field(max_length=40)]
    bot: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    session: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    tool: Annotated[str, Field(max_length=MAX_TOOL_CHARS)]
    summary: Annotated[str, Field(max_length=MAX_SUMMARY_CHARS)]
    outcome: Annotated[str, Field(max_length=MAX_OUTCOME_CHARS)]
    duration_ms: float | None
    error: Annotated[str, Field(max_length=MAX_ERROR_CHARS)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The latest calls, newest last, and how many there are in all. Both count only what the filter lets through."""

    rows: tuple[AuditRow, ...]
    total: int


def audit_file(state_dir: Path) -> Path:
    """Where the record of a state folder stands."""
    return state_dir / FOLDER / FILE


def read_audit(state_dir: Path, last: int, bot: str | None = None, session: str | None = None) -> Recorded | None:
    """The latest `last` calls, of one bot or session where named; None: nothing was ever recorded.

    Raises:
        AuditUnreadable: the file cannot be read, is damaged, or is not of this version.
    """
    path = audit_file(state_dir)
    if not path.exists():
        return None
    names = tuple(None if name is None else cut(name, MAX_NAME_CHARS) for name in (bot, session))
    wanted = "(?1 IS NULL OR bot = ?1) AND (?2 IS NULL OR session = ?2)"
    columns = ", ".join(AuditRow.model_fields)
    try:
        with contextlib.closing(_opened(path, "ro")) as connection:
            _check_version(connection, path)
            connection.execute("BEGIN")  # one state of the file for both reads
            (total,) = connection.execute(f"SELECT count(*) FROM calls WHERE {wanted}", names).fetchone()
            found = connection.execute(
                f"SELECT {columns} FROM calls WHERE {wanted} ORDER BY id DESC LIMIT ?3", (*names, last)
            ).fetchall()
        rows = [AuditRow(**dict(zip(AuditRow.model_fields, values, strict=True))) for values in reversed(found)]
    except sqlite3.Error as error:
        raise AuditUnreadable(f"the audit record {quoted(str(path))} cannot be read: {error}") from error
    except ValidationError as error:
        raise AuditUnreadable(f"the audit record {quoted(str(path))} is damaged: it has a wrong row") from error
    return Recorded(rows=tuple(rows), total=total)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, AuditUnreadable) as error:
        raise AuditError(f"the audit record {quoted(str(path))} cannot be written: {error}") from error
    except OSError as error:
        raise AuditError(f"the audit record {quoted(str(path))} cannot be written: {error.strerror}") from error


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,  # each statement is its own transaction
        check_same_thread=False,  # the log has a lock of its own
    )


def _connected(path: Path) -> sqlite3.Connection:
    connection = _opened(path, "rw")
    try:
        _check_version(connection, path)
        # With WAL a killed process loses nothing that was committed: the system has it. A loss of power may lose the
        # last rows but damages none. FULL would wait for the disk twice a call: up to tens of milliseconds.
        connection.execute("PRAGMA synchronous = NORMAL")
    except (sqlite3.Error, AuditUnreadable):
        connection.close()
        raise
    return connection


def _make_file(path: Path) -> None:
    """An empty record, if there is none. It appears whole, by a link, whoever else does the same."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    if not path.exists():
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # its mode is 0600
        os.close(handle)
        part = Path(name)
        try:
            with contextlib.closing(_opened(part, "rw")) as connection:
                # Kept in the file's header. Switching later could fail beside others that do it too.
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode != "wal":
                    raise sqlite3.OperationalError("this file system cannot hold it")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                connection.execute(_SCHEMA)
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(part)
        finally:
            part.unlink(missing_ok=True)
    path.chmod(0o600)


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise AuditUnreadable(f"the file {quoted(str(path))} is not an audit record")
    if version != SCHEMA_VERSION:
        raise AuditUnreadable(
            f"the audit record {quoted(str(path))} has version {version}; this axtrial knows {SCHEMA_VERSION}"
        )
