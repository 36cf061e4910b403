"""`axtrial audit`: the table, the JSON, and one sentence where there is nothing or where the record is damaged."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import main
from harness.commands.read_audit import print_calls
from harness.host.audit import AuditEntry, AuditLog, read_audit

Run = Callable[..., tuple[int, str, str]]
AT = datetime(2026, 3, 1, 12, 0, 0, 5_000, tzinfo=UTC)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`axtrial audit` in this process with a record below `tmp_path`: exit code, stdout, stderr."""
    monkeypatch.setenv("AXTRIAL_STATE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["axtrial", "audit", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call


@pytest.fixture
def three_calls(tmp_path: Path) -> None:
    with AuditLog(tmp_path, lambda: AT) as log:
        typed = AuditEntry(bot="anna", session="s-1", tool="type", summary="text length 5")
        log.end(log.begin(typed), "ok", 12.34)
        opened = AuditEntry(bot="ben", session="s-2", tool="open", summary="[b]\u202e\x9b")
        log.end(log.begin(opened), "paused", 0.5, "It is paused.")
        log.begin(AuditEntry(bot="anna", session="s-1", tool="click", summary="eqemi8b_2"))


@pytest.mark.usefixtures("three_calls")
def test_table(run: Run) -> None:
    code, out, err = run()

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "at (UTC)                 bot   session  tool   summary          outcome                   ms  error",
        "2026-03-01 12:00:00.005  anna  s-1      type   text length 5    ok                      12.3",
        r"2026-03-01 12:00:00.005  ben   s-2      open   [b]\u202e\u009b  paused                   0.5  It is paused.",
        "2026-03-01 12:00:00.005  anna  s-1      click  eqemi8b_2        begun, no end recorded",
    ]


@pytest.mark.usefixtures("three_calls")
def test_colour_is_for_a_terminal_alone(tmp_path: Path) -> None:
    found = read_audit(tmp_path, 9)
    assert found is not None
    for terminal in (True, False):
        console = Console(
            force_terminal=terminal, width=160, color_system="standard" if terminal else None, _environ={"TERM": "x"}
        )
        with console.capture() as shown:
            print_calls(console, found.rows)
        assert ("\x1b[32mok" in shown.get(), "\x1b" in shown.get()) == (terminal, terminal)


LONG_URL = "http://a.test/" + "long/" * 25
LONG_ERROR = "Navigation failed: " + "a word " * 20 + "net::ERR_NAME_NOT_RESOLVED"


@pytest.fixture
def long_call(tmp_path: Path) -> None:
    with AuditLog(tmp_path, lambda: AT) as log:
        failed = AuditEntry(bot="anna", session="session-" + "x" * 40, tool="open", summary=LONG_URL)
        log.end(log.begin(failed), "navigation_failed", 12.34, LONG_ERROR)
        log.end(log.begin(AuditEntry(bot="anna", session="s-1", tool="observe", summary="")), "ok", 1.0)


@pytest.mark.usefixtures("long_call")
@pytest.mark.parametrize("columns", ["20", "200", None])
def test_a_call_is_one_line_where_no_terminal_is(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str | None
) -> None:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    code, out, err = run()

    session = "session-" + "x" * 40
    name, url = len(session), len(LONG_URL)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{'at (UTC)':23}  bot   {'session':{name}}  tool     {'summary':{url}}  outcome              ms  error",
        f"2026-03-01 12:00:00.005  anna  {session}  open     {LONG_URL}  navigation_failed  12.3  {LONG_ERROR}",
        f"2026-03-01 12:00:00.005  anna  {'s-1':{name}}  observe  {'':{url}}  ok                  1.0",
    ]


@pytest.mark.usefixtures("long_call")
def test_a_narrow_terminal_has_everything_below_the_call(tmp_path: Path) -> None:
    found = read_audit(tmp_path, 9)
    assert found is not None
    console = Console(force_terminal=True, width=50, color_system=None, _environ={"TERM": "x"})
    with console.capture() as shown:
        print_calls(console, found.rows)
    assert [line.rstrip() for line in shown.get().splitlines()] == [
        "2026-03-01 12:00:00.005  anna",
        "session-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "open  navigation_failed  12.3 ms",
        *(f"    {LONG_URL[start : start + 46]}" for start in range(0, len(LONG_URL), 46)),
        "    Navigation failed: a word a word a word a word",
        "    a word a word a word a word a word a word a",
        "    word a word a word a word a word a word a word",
        "    a word a word a word",
        "    net::ERR_NAME_NOT_RESOLVED",
        "2026-03-01 12:00:00.005  anna  s-1  observe  ok",
        "1.0 ms",
    ]


@pytest.mark.usefixtures("three_calls")
def test_a_terminal_that_is_wide_enough_has_one_line_a_call(tmp_path: Path) -> None:
    found = read_audit(tmp_path, 9)
    assert found is not None
    longest = (
        r"2026-03-01 12:00:00.005  ben   s-2      open   [b]\u202e\u009b  paused                   0.5  It is paused."
    )
    widest = len(longest)
    shown: dict[int, list[str]] = {}
    for width in (widest, widest - 1):
        console = Console(force_terminal=True, width=width, color_system=None, _environ={"TERM": "x"})
        with console.capture() as printed:
            print_calls(console, found.rows)
        shown[width] = [line.rstrip() for line in printed.get().splitlines()]
    assert (len(shown[widest]), shown[widest][2]) == (4, longest)
    assert shown[widest - 1] == [
        "2026-03-01 12:00:00.005  anna  s-1  type  ok  12.3 ms",
        "    text length 5",
        "2026-03-01 12:00:00.005  ben  s-2  open  paused  0.5 ms",
        r"    [b]\u202e\u009b",
        "    It is paused.",
        "2026-03-01 12:00:00.005  anna  s-1  click  begun, no end recorded",
        "    eqemi8b_2",
    ]


@pytest.mark.usefixtures("three_calls")
def test_json_is_ascii_and_whole(run: Run) -> None:
    code, out, err = run("--json", "--bot", "ben")

    assert (code, err, out.isascii()) == (0, "", True)
    assert json.loads(out) == [
        {
            "id": 2,
            "at": "2026-03-01T12:00:00.005+00:00",
            "bot": "ben",
            "session": "s-2",
            "tool": "open",
            "summary": "[b]\u202e\x9b",
            "outcome": "paused",
            "duration_ms": 0.5,
            "error": "It is paused.",
        }
    ]


@pytest.mark.usefixtures("three_calls")
@pytest.mark.parametrize(
    ("arguments", "ids", "note"),
    [
        (["--last", "2"], [2, 3], "the last 2 of 3 calls; --last N shows more\n"),
        (["--session", "s-1"], [1, 3], ""),
        (["--bot", "carl"], [], "no such call is recorded\n"),
    ],
)
def test_filters(run: Run, arguments: list[str], ids: list[int], note: str) -> None:
    code, out, err = run("--json", *arguments)

    assert (code, [call["id"] for call in json.loads(out)], err) == (0, ids, note)


def test_no_record_is_said(run: Run, tmp_path: Path) -> None:
    said = f'no call was recorded yet: there is no "{tmp_path}/audit/audit.sqlite3"\n'

    assert run() == (0, "", said)
    assert run("--json") == (0, "[]\n", said)


def test_an_empty_record_is_said(run: Run, tmp_path: Path) -> None:
    with AuditLog(tmp_path):
        pass

    assert run("--json") == (0, "[]\n", "no call was recorded yet\n")


def test_a_damaged_record_is_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    path = tmp_path / "audit" / "audit.sqlite3"
    path.write_bytes(b"x" * 4096)

    assert run("--json") == (2, "", f'axtrial: the audit record "{path}" cannot be read: file is not a database\n')


@pytest.mark.parametrize("number", ["0", "100001", "x"])
def test_a_wrong_number_is_bad_usage(run: Run, number: str) -> None:
    code, out, err = run("--last", number)

    assert (code, out, "--last" in err) == (2, "", True)
