"""A run that is stopped, killed or out of disk keeps its rows, leaves nothing behind, and can be resumed to its end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from harness.drivers.native_pin import NativeBinary
from reports.row import Row

if TYPE_CHECKING:
    from tests.faults.conftest import Cli, Gate

ReadRows = Callable[[Path], list[Row]]

TWO_ARMS = ("--arm", "current/local/page-text", "--arm", "current/local/structured", "--repeats", "1")
BOUND_S = 30.0

pytestmark = pytest.mark.timeout(120)


def scheduled(folder: Path) -> list[str]:
    manifest = json.loads((folder / "manifest.json").read_text())
    return [planned["trial_id"] for planned in manifest["schedule"]]


def deviations(folder: Path) -> list[str]:
    manifest = json.loads((folder / "manifest.json").read_text())
    return [str(deviation) for deviation in manifest["deviations"]]


def resumed(cli: "Cli", folder: Path, read_rows: ReadRows) -> list[str]:
    """Resume and check that every trial has exactly one row, in the schedule's order; the manifest's deviations."""
    ended = cli.run("run", "--resume", "--out", folder)
    assert (ended.code, "Traceback" in ended.err) == (0, False), ended.err
    rows = read_rows(folder)
    assert [row.trial_id for row in rows] == scheduled(folder)
    assert {(row.outcome, row.success) for row in rows} == {("completed", True)}
    return deviations(folder)


def to_the_group(process: subprocess.Popen[bytes]) -> None:
    """As a terminal does on Ctrl-C: the drivers' own programs get it too."""
    os.killpg(process.pid, signal.SIGINT)


def twice_to_the_process(process: subprocess.Popen[bytes]) -> None:
    """As an impatient supervisor does: the second comes while the first is being obeyed."""
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)


@pytest.mark.browser
@pytest.mark.parametrize("stop", [to_the_group, twice_to_the_process])
def test_a_stopped_run_is_resumed(
    cli: "Cli", gate: "Gate", gated: Path, read_rows: ReadRows, stop: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    folder = cli.folder / "run"
    process = cli.start("run", "--fixtures", gated, "--out", folder, *TWO_ARMS)
    gate.wait()
    gate.pass_one()
    gate.wait()
    stop(process)
    ended = cli.end(process)

    first, second = read_rows(folder)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.split("\n")[1:] == [f"axtrial: interrupted; go on with: axtrial run --resume --out {folder}", ""]
    assert ([first.trial_id, second.trial_id], first.outcome, second.outcome) == (
        scheduled(folder),
        "completed",
        "interrupted",
    )
    assert cli.leftovers() == ([], [])

    gate.open()
    begun = f"trial {second.trial_id}, begun {second.started_at}, was interrupted and ran again"
    assert resumed(cli, folder, read_rows) == [begun]


@pytest.mark.browser
def test_a_killed_run_is_swept_and_resumed(cli: "Cli", gate: "Gate", gated: Path, read_rows: ReadRows) -> None:
    folder = cli.folder / "run"
    process = cli.start("run", "--fixtures", gated, "--out", folder, *TWO_ARMS)
    gate.wait()
    gate.pass_one()
    gate.wait()
    children = [user for user in cli.users() if user.pid != process.pid]
    process.kill()
    ended = cli.end(process)
    _, alive = psutil.wait_procs(children, timeout=BOUND_S)

    assert (ended.code, len(children) > 3, alive) == (-signal.SIGKILL, True, [])
    assert [row.trial_id for row in read_rows(folder)] == scheduled(folder)[:1]
    users, folders = cli.leftovers()
    assert (users, len(folders)) == ([], 1)

    gate.open()
    assert resumed(cli, folder, read_rows) == [f"trial {scheduled(folder)[1]} was begun, left no row and ran again"]
    again = sorted(path.name for path in (folder / "trials").iterdir() if path.name.startswith(scheduled(folder)[1]))
    assert again == [scheduled(folder)[1], f"{scheduled(folder)[1]}.interrupted-1"]


@pytest.mark.browser
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_stops_the_run_with_what_it_has(cli: "Cli", gate: "Gate", gated: Path, read_rows: ReadRows) -> None:
    folder = cli.folder / "run"
    process = cli.start("run", "--fixtures", gated, "--out", folder, *TWO_ARMS)
    gate.wait()
    gate.pass_one()
    gate.wait()
    (folder / "rows.jsonl").rename(folder / "kept")
    (folder / "rows.jsonl").symlink_to("/dev/full")
    gate.open()
    ended = cli.end(process)

    trial = scheduled(folder)[1]
    assert (ended.code, ended.out, ended.err.split("\n")[1:]) == (
        1,
        "",
        [
            f"axtrial: the row of trial {trial} cannot be written (No space left on device); "
            "the run has stopped with 1 rows and can be resumed with --resume",
            "",
        ],
    )
    assert cli.leftovers() == ([], [])
    refused = cli.run("run", "--resume", "--out", folder)
    assert (refused.code, refused.err) == (
        2,
        f'axtrial: "{folder}/rows.jsonl" is not a file; the run cannot be resumed until it is gone\n',
    )

    (folder / "kept").replace(folder / "rows.jsonl")
    assert resumed(cli, folder, read_rows) == [f"trial {trial} was begun, left no row and ran again"]


def test_a_chrome_that_dies_is_a_row_for_each_trial(cli: "Cli", read_rows: ReadRows) -> None:
    chrome = cli.folder / "chrome"
    chrome.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Chromium 1.2.3.4 && exit\necho no display >&2\nexit 5\n')
    chrome.chmod(0o755)
    cli.settings["AXTRIAL_CHROME"] = str(chrome)
    ended = cli.run("run", "--task", "notes", "--out", "run", *TWO_ARMS)

    rows = read_rows(cli.folder / "run")
    assert (ended.code, ended.err.split("\n")[2:]) == (1, ["report: run/report.html", ""])
    said = 'Chrome ended at its start with exit code 5; its last line was "no display"'
    assert [(row.outcome, row.success, row.calls, row.error) for row in rows] == [("target_failed", None, 0, said)] * 2
    assert said.replace('"', "&#34;") in (cli.folder / "run" / "report.html").read_text()


@pytest.mark.browser
def test_an_arm_whose_driver_was_missing_runs_when_it_is_there(
    cli: "Cli", gate: "Gate", gated: Path, native_binary: NativeBinary, read_rows: ReadRows
) -> None:
    folder = cli.folder / "run"
    arms = ("--arm", "current/local/page-text", "--arm", "agent-browser/local/verbatim", "--repeats", "1")
    gate.open()
    cli.settings["AXTRIAL_CACHE_DIR"] = str(cli.folder / "empty")
    ended = cli.run("run", "--fixtures", gated, "--out", folder, *arms)
    before = {row.driver: row for row in read_rows(folder)}
    again = cli.run("run", "--resume", "--out", folder)
    still = {row.driver: row for row in read_rows(folder)}

    assert {name: row.outcome for name, row in before.items()} == {
        "current": "completed",
        "agent-browser": "driver_failed",
    }
    assert (ended.code, again.code, still["agent-browser"].error) == (1, 1, before["agent-browser"].error)
    cli.settings.clear()
    assert cli.run("run", "--resume", "--out", folder).code == 0
    after, said = read_rows(folder), deviations(folder)
    assert sorted(row.trial_id for row in after) == sorted(scheduled(folder))
    assert {(row.outcome, row.success) for row in after} == {("completed", True)}
    assert said[1:] == ["the driver agent-browser had not started, so 1 of its trials began when the run was resumed"]
    assert said[0].startswith("the driver agent-browser did not start, so its trials are not run: agent-browser ")
    assert {row.driver: row for row in after}["current"] == before["current"] == still["current"]
    assert sorted(path.name for path in (folder / "trials").iterdir()) == sorted(scheduled(folder))


@pytest.mark.browser
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="no variables name the screen here")
def test_no_display_is_said_before_anything_is_written(cli: "Cli") -> None:
    cli.settings.update(AXTRIAL_HEADED="1", DISPLAY="", WAYLAND_DISPLAY="")
    ended = cli.run("run", "--out", "run", *TWO_ARMS)
    said = (
        "axtrial: a window (--headed, AXTRIAL_HEADED) needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set; "
        "start this in a desktop session, or under xvfb-run (on Debian in the package xvfb), or leave the window out\n"
    )
    assert (ended.code, ended.out, ended.err) == (1, "", said)
    assert list(cli.folder.iterdir()) == []


def test_no_chrome_is_said_before_anything_is_written(cli: "Cli") -> None:
    cli.settings["AXTRIAL_CHROME"] = "/none/chrome"
    ended = cli.run("run", "--out", "run")
    said = 'axtrial: the setting chrome is not a Chrome that runs: "/none/chrome" is not a file\n'
    assert (ended.code, ended.out, ended.err) == (2, "", said)
    assert list(cli.folder.iterdir()) == []


def test_a_torn_last_line_runs_again_and_nothing_else(cli: "Cli", fake_run: Path, read_rows: ReadRows) -> None:
    before = (fake_run / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (fake_run / "rows.jsonl").write_bytes(b"".join(before[:3]) + before[3][:100])
    ended = cli.run("run", "--resume", "--out", fake_run)

    assert (ended.code, "Traceback" in ended.err) == (1, False)  # the fake driver has no page for these tasks
    assert [row.trial_id for row in read_rows(fake_run)] == scheduled(fake_run)
    assert (fake_run / "rows.jsonl").read_bytes().splitlines(keepends=True)[:3] == before[:3]
    assert deviations(fake_run) == [f"trial {scheduled(fake_run)[3]} was begun, left no row and ran again"]


def test_a_whole_run_is_resumed_without_a_trial(cli: "Cli", fake_run: Path) -> None:
    before = (fake_run / "rows.jsonl").read_bytes()
    ended = cli.run("run", "--resume", "--out", fake_run)
    assert (ended.code, ended.err) == (1, f"report: {fake_run}/report.html\n")
    assert (fake_run / "rows.jsonl").read_bytes() == before
    assert deviations(fake_run) == []
