"""The audit record of a host that is killed, of several hosts at once, and of a disk that is full."""

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from harness.host.audit import AuditEntry, AuditError, AuditLog, read_audit

ENTRY = AuditEntry(bot="anna", session="s-1", tool="click", summary="eqemi8b_1")
PROCESSES = 4
CALLS_EACH = 50
KILLS = 6

# Says each step once it is recorded: `begun N`, `ended N`.
WRITER = """
import sys
from pathlib import Path
from harness.host.audit import AuditEntry, AuditLog

entry = AuditEntry(bot=sys.argv[2], session="s-1", tool="click", summary="eqemi8b_1")
with AuditLog(Path(sys.argv[1])) as log:
    for _ in range(int(sys.argv[3])):
        number = log.begin(entry)
        print("begun", number, flush=True)
        log.end(number, "ok", 1.0)
        print("ended", number, flush=True)
"""

# No file may grow beyond what is there and some pages more; then the limit is lifted.
FULL = """
import resource, sys
from pathlib import Path
from harness.host.audit import AuditEntry, AuditError, AuditLog, read_audit

folder = Path(sys.argv[1])
entry = AuditEntry(bot="anna", session="s-1", tool="click", summary="s" * 200)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
with AuditLog(folder) as log:
    log.begin(entry)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, hard))
    acknowledged = [1]
    try:
        while len(acknowledged) < 100_000:
            acknowledged.append(log.begin(entry))
    except AuditError as error:
        print(error.message)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    acknowledged.append(log.begin(entry))
    log.end(acknowledged[0], "ok", 1.0)
found = read_audit(folder, 100_000)
print([row.id for row in found.rows] == acknowledged, len(acknowledged) > 10, found.rows[0].outcome)
"""


def start(folder: Path, bot: str, calls: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), bot, str(calls)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def check_integrity(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "audit" / "audit.sqlite3")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def outcomes(folder: Path) -> dict[int, str]:
    found = read_audit(folder, 1_000_000)
    assert found is not None
    return {row.id: row.outcome for row in found.rows}


def test_a_killed_host_loses_no_acknowledged_row(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(KILLS):
        with start(tmp_path, "anna", 1_000_000) as process:
            assert process.stdout is not None
            said += [process.stdout.readline() for _ in range(random.randint(1, 400))]
            process.kill()
            said += [line for line in process.stdout if line.endswith("\n")]

        check_integrity(tmp_path)
        recorded = outcomes(tmp_path)
        numbers = {
            step: {int(line.split()[1]) for line in said if line.startswith(step)} for step in ("begun", "ended")
        }
        assert numbers["begun"] - recorded.keys() == set()
        assert {number for number in numbers["ended"] if recorded[number] != "ok"} == set()
    left = [number for number, outcome in outcomes(tmp_path).items() if outcome == "begun"]
    assert len(left) <= KILLS


def test_several_hosts_make_and_write_one_record(tmp_path: Path) -> None:
    started = [start(tmp_path, f"bot-{n}", CALLS_EACH) for n in range(PROCESSES)]
    for process in started:
        process.communicate()

    check_integrity(tmp_path)
    assert [process.returncode for process in started] == [0] * PROCESSES
    assert outcomes(tmp_path) == dict.fromkeys(range(1, PROCESSES * CALLS_EACH + 1), "ok")
    for n in range(PROCESSES):
        found = read_audit(tmp_path, 1, bot=f"bot-{n}")
        assert found is not None
        assert found.total == CALLS_EACH
    assert [path.name for path in (tmp_path / "audit").glob(".new-*")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's size")
def test_a_call_is_refused_while_files_cannot_grow(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False, timeout=50
    )

    sentence, checks = ended.stdout.splitlines()
    assert sentence.startswith(f'the audit record "{tmp_path}/audit/audit.sqlite3" cannot be written: ')
    assert (checks, ended.stderr, ended.returncode) == ("True True ok", "", 0)
    check_integrity(tmp_path)


def test_a_call_is_refused_by_a_full_database(tmp_path: Path) -> None:
    with AuditLog(tmp_path) as log:
        connection = log._connection
        assert connection is not None
        connection.execute("PRAGMA max_page_count = 4")
        acknowledged: list[int] = []
        with pytest.raises(AuditError) as caught:
            acknowledged.extend(log.begin(ENTRY) for _ in range(1_000))
        log.end(acknowledged[0], "ok", 1.0)
        connection.execute("PRAGMA max_page_count = 1000")
        acknowledged.append(log.begin(ENTRY))

    path = tmp_path / "audit" / "audit.sqlite3"
    assert caught.value.message == f'the audit record "{path}" cannot be written: database or disk is full'
    assert outcomes(tmp_path) == {number: "ok" if number == 1 else "begun" for number in acknowledged}
    check_integrity(tmp_path)


def test_a_call_is_refused_while_another_program_holds_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.host.audit.BUSY_TIMEOUT_S", 0.05)
    with AuditLog(tmp_path) as log, closing(sqlite3.connect(log.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(AuditError) as caught:
            log.begin(ENTRY)
        other.execute("ROLLBACK")
        assert log.begin(ENTRY) == 1

    assert caught.value.message == f'the audit record "{log.path}" cannot be written: database is locked'
