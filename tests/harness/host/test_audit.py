"""A call has its row before it is made; the row says how it ended, within bounds, whoever writes beside it."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from harness.host.audit import AuditEntry, AuditError, AuditLog, AuditRow, AuditUnreadable, Recorded, read_audit

AT = datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)
CLICK = AuditEntry(bot="anna", session="s-1", tool="click", summary="eqemi8b_1")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AuditLog]:
    with AuditLog(tmp_path, lambda: AT) as opened:
        yield opened


def row(**changed: object) -> AuditRow:
    """What `CLICK` leaves, with other values where they are named."""
    begun: dict[str, object] = {
        "id": 1,
        "at": "2026-03-01T12:00:00.123+00:00",
        "bot": "anna",
        "session": "s-1",
        "tool": "click",
        "summary": "eqemi8b_1",
        "outcome": "begun",
        "duration_ms": None,
        "error": None,
    }
    return AuditRow.model_validate({**begun, **changed})


def rows(folder: Path) -> tuple[AuditRow, ...]:
    found = read_audit(folder, 1_000)
    assert found is not None
    return found.rows


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "audit" / "audit.sqlite3", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_call_is_recorded_before_and_after(log: AuditLog, tmp_path: Path) -> None:
    number = log.begin(CLICK)
    assert (number, rows(tmp_path)) == (1, (row(),))

    log.end(number, "stale_ref", 12.34567, "This ref is not of the latest observation.")
    ended = row(outcome="stale_ref", duration_ms=12.346, error="This ref is not of the latest observation.")
    assert rows(tmp_path) == (ended,)


def test_time_is_recorded_in_utc(tmp_path: Path) -> None:
    with AuditLog(tmp_path, lambda: AT.astimezone(timezone(timedelta(hours=5)))) as log:
        log.begin(CLICK)

    assert rows(tmp_path) == (row(),)


def test_long_texts_are_cut_and_any_text_is_kept(log: AuditLog, tmp_path: Path) -> None:
    hostile = "\x1b]0;\u202e\n\0'"
    log.begin(AuditEntry(bot="b" * 81, session="\ud800", tool="t" * 41, summary="s" * 201))
    log.end(1, "o" * 41, 0.0, "e" * 201)
    log.begin(AuditEntry(bot=hostile, session="", tool=hostile, summary=hostile))

    assert rows(tmp_path) == (
        row(
            bot="b" * 79 + "…",
            session="\\ud800",
            tool="t" * 39 + "…",
            summary="s" * 199 + "…",
            outcome="o" * 39 + "…",
            duration_ms=0.0,
            error="e" * 199 + "…",
        ),
        row(id=2, bot=hostile, session="", tool=hostile, summary=hostile),
    )


def test_folder_and_file_are_the_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir(mode=0o755)
    with AuditLog(tmp_path) as log:
        log.begin(CLICK)
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "audit").iterdir()}

    assert modes == {"audit.sqlite3": 0o600, "audit.sqlite3-wal": 0o600, "audit.sqlite3-shm": 0o600}
    assert (tmp_path / "audit").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "audit").iterdir()] == ["audit.sqlite3"]


@pytest.mark.parametrize("number", [1, 2])
def test_only_a_call_under_way_ends(log: AuditLog, tmp_path: Path, number: int) -> None:
    log.end(log.begin(CLICK), "ok", 1.0)

    with pytest.raises(AuditError) as caught:
        log.end(number, "ok", 2.0)

    path = tmp_path / "audit" / "audit.sqlite3"
    assert caught.value.message == f'the audit record "{path}" has no call {number} under way'
    assert rows(tmp_path) == (row(outcome="ok", duration_ms=1.0),)


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    with AuditLog(tmp_path) as log:
        pass

    with pytest.raises(AuditError) as caught:
        log.begin(CLICK)

    assert caught.value.message == f'the audit record "{tmp_path}/audit/audit.sqlite3" is closed'


def test_rows_are_kept_when_the_record_is_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        with AuditLog(tmp_path, lambda: AT) as log:
            log.begin(CLICK)

    assert rows(tmp_path) == (row(), row(id=2))


def test_the_latest_calls_of_a_bot_or_a_session(log: AuditLog, tmp_path: Path) -> None:
    for bot, session in (("anna", "1"), ("ben", "2"), ("anna", "3"), ("anna", "3")):
        log.begin(AuditEntry(bot=bot, session=session, tool="click", summary=""))
    made = [
        row(id=n, bot=b, session=s, summary="") for n, b, s in ((1, "anna", "1"), (3, "anna", "3"), (4, "anna", "3"))
    ]

    assert read_audit(tmp_path, 2, bot="anna") == Recorded(rows=tuple(made[1:]), total=3)
    assert read_audit(tmp_path, 9, session="3") == Recorded(rows=tuple(made[1:]), total=2)
    assert read_audit(tmp_path, 9, bot="anna", session="1") == Recorded(rows=(made[0],), total=1)
    assert read_audit(tmp_path, 9, bot="carl") == Recorded(rows=(), total=0)


def test_a_name_that_was_cut_is_found_by_the_whole_name(log: AuditLog, tmp_path: Path) -> None:
    log.begin(AuditEntry(bot="b" * 100, session="s-1", tool="click", summary="eqemi8b_1"))

    assert read_audit(tmp_path, 9, bot="b" * 100) == Recorded(rows=(row(bot="b" * 79 + "…"),), total=1)


def test_no_record_is_none(tmp_path: Path) -> None:
    assert read_audit(tmp_path, 9) is None
    assert list(tmp_path.iterdir()) == []


def test_threads_write_at_once(log: AuditLog, tmp_path: Path) -> None:
    def write() -> None:
        for _ in range(25):
            log.end(log.begin(CLICK), "ok", 1.0)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert rows(tmp_path) == tuple(row(id=n, outcome="ok", duration_ms=1.0) for n in range(1, 101))


def spoil(folder: Path, how: str) -> str:
    """Make the record unusable in one of several ways; what is said of it."""
    path = folder / "audit" / "audit.sqlite3"
    match how:
        case "newer":
            change(folder, "PRAGMA user_version = 2")
            return f'the audit record "{path}" has version 2; this axtrial knows 1'
        case "foreign":
            change(folder, "PRAGMA application_id = 0")
            return f'the file "{path}" is not an audit record'
        case "empty":
            path.write_bytes(b"")
            return f'the file "{path}" is not an audit record'
        case "no database":
            path.write_bytes(b"x" * 4096)
            return "file is not a database"
        case _:
            path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 4096)
            return "malformed"


WAYS = ["newer", "foreign", "empty", "no database", "damaged"]


@pytest.mark.parametrize("how", WAYS)
def test_an_unusable_record_is_not_read(tmp_path: Path, how: str) -> None:
    with AuditLog(tmp_path) as log:
        log.begin(CLICK)
    said = spoil(tmp_path, how)

    with pytest.raises(AuditUnreadable) as caught:
        read_audit(tmp_path, 9)

    assert (said in caught.value.message, caught.value.exit_code) == (True, 2), caught.value.message


@pytest.mark.parametrize("how", WAYS)
def test_an_unusable_record_is_not_written(tmp_path: Path, how: str) -> None:
    with AuditLog(tmp_path) as log:
        log.begin(CLICK)
    said = spoil(tmp_path, how)
    before = (tmp_path / "audit" / "audit.sqlite3").read_bytes()

    with pytest.raises(AuditError) as caught, AuditLog(tmp_path) as log:
        log.begin(CLICK)

    assert said in caught.value.message
    assert (tmp_path / "audit" / "audit.sqlite3").read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE calls SET bot = x'00'",
        "UPDATE calls SET bot = CAST(x'ff' AS TEXT)",
        "UPDATE calls SET error = printf('%.*c', 201, 'e')",
        "UPDATE calls SET duration_ms = 'long'",
        "DROP TABLE calls",
    ],
)
def test_a_wrong_row_is_refused(tmp_path: Path, statement: str) -> None:
    with AuditLog(tmp_path) as log:
        log.begin(CLICK)
    change(tmp_path, statement)

    with pytest.raises(AuditUnreadable):
        read_audit(tmp_path, 9)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(AuditError) as caught, AuditLog(tmp_path / "file"):
        pass

    path = tmp_path / "file" / "audit" / "audit.sqlite3"
    assert caught.value.message == f'the audit record "{path}" cannot be written: Not a directory'


def test_nothing_is_recorded_in_a_deleted_file(log: AuditLog, tmp_path: Path) -> None:
    path = tmp_path / "audit" / "audit.sqlite3"
    path.rename(tmp_path / "moved")

    with pytest.raises(AuditError) as gone:
        log.begin(CLICK)
    path.touch()
    with pytest.raises(AuditError) as other:
        log.begin(CLICK)

    assert gone.value.message == f'the audit record "{path}" cannot be written: No such file or directory'
    assert other.value.message == f'the audit record "{path}" was replaced by another file'
