"""A run's folder: what was appended is kept, what was torn or interrupted runs again and is told."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import JsonValue

from harness.errors import RunStopped, UsageError
from harness.trial.ledger import Ledger, new_ledger, resume_ledger
from reports.row import Row

MakeRow = Callable[..., Row]
SPEC: dict[str, JsonValue] = {"spec_digest": "d"}
FIELDS: dict[str, Any] = {
    "block_id": "b",
    "protocol": "1",
    "spec_digest": "d",
    "driver": "fake",
    "target": "fake",
    "formatter": "verbatim",
    "suite": "notes",
    "task": "two-notes",
    "repeat": 0,
    "seed": 1,
    "position": 0,
    "started_at": "2026-01-01",
    "outcome": "completed",
    "success": True,
}


def row(trial_id: str, **changes: object) -> Row:
    return Row.model_validate({"trial_id": trial_id, **FIELDS, **changes})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return new_ledger(tmp_path / "deep" / "run", {"spec_digest": "d", "deviations": []})


def manifest(folder: Path) -> dict[str, Any]:
    return dict(orjson.loads((folder / "manifest.json").read_bytes()))


def test_appended_rows_are_there_when_resumed(ledger: Ledger) -> None:
    ledger.append(row("a"))
    ledger.append(row("b", outcome="wrong_result", success=False, usage={"total": 5}))
    before = (ledger.folder / "rows.jsonl").read_bytes()
    again = resume_ledger(ledger.folder, SPEC)
    assert (again.done, again.manifest) == ({"a", "b"}, {"spec_digest": "d", "deviations": []})
    assert (ledger.folder / "rows.jsonl").read_bytes() == before
    assert before.count(b"\n") == 2


@pytest.mark.parametrize("kept", [1, 100, -1])
def test_a_torn_last_line_is_cut_off_wherever_it_was_torn(ledger: Ledger, kept: int) -> None:
    ledger.append(row("a"))
    whole = (ledger.folder / "rows.jsonl").read_bytes()
    torn = row("b").model_dump_json().encode() + b"\n"
    (ledger.folder / "rows.jsonl").write_bytes(whole + torn[:kept])
    assert resume_ledger(ledger.folder, SPEC).done == {"a"}
    assert (ledger.folder / "rows.jsonl").read_bytes() == whole


def test_interrupted_rows_become_deviations_once(ledger: Ledger) -> None:
    ledger.append(row("a"))
    ledger.append(row("b", outcome="interrupted", success=None))
    before = (ledger.folder / "rows.jsonl").read_bytes()
    said = ["trial b, begun 2026-01-01, was interrupted and ran again"]
    assert (resume_ledger(ledger.folder, SPEC).done, manifest(ledger.folder)["deviations"]) == ({"a"}, said)
    assert (ledger.folder / "rows.jsonl").read_bytes() == before.splitlines(keepends=True)[0]
    (ledger.folder / "rows.jsonl").write_bytes(before)  # as a kill between the two writes leaves it
    resume_ledger(ledger.folder, SPEC)
    assert manifest(ledger.folder)["deviations"] == said


def test_a_trial_without_its_row_is_told_and_its_steps_are_kept(ledger: Ledger) -> None:
    for number in (1, 2):
        with ledger.trial("a") as (folder, file):
            file.write(b"try %d" % number)
    with ledger.trial("b"):
        ledger.append(row("b"))
    assert resume_ledger(ledger.folder, SPEC).manifest["deviations"] == ["trial a was begun, left no row and ran again"]
    names = sorted(path.name for path in folder.parent.iterdir())
    assert names == ["a", "a.interrupted-1", "b"]
    assert (folder.with_name("a.interrupted-1") / "steps.jsonl").read_bytes() == b"try 1"
    assert (folder / "steps.jsonl").read_bytes() == b"try 2"


def test_trials_that_never_began_run_when_the_run_is_resumed(ledger: Ledger) -> None:
    failed: dict[str, object] = {
        "outcome": "driver_failed",
        "success": None,
        "driver": "agent-browser",
        "calls": 0,
        "observations": 0,
    }
    trials: dict[str, dict[str, object]] = {
        "ended": {"driver_version": "1"},
        "not-begun": failed,
        "not-begun-2": failed,
        "lost-at-once": {**failed, "driver_version": "1"},
        "lost-later": {**failed, "driver_version": "1", "calls": 3},
        "no-chrome": {**failed, "driver_version": "1", "outcome": "target_failed"},
    }
    for trial_id, changes in trials.items():
        with ledger.trial(trial_id):
            ledger.append(row(trial_id, **changes))
    (ledger.folder / "trials" / "not-begun-2" / "driver.log").touch()
    before = (ledger.folder / "rows.jsonl").read_bytes().splitlines(keepends=True)

    again = resume_ledger(ledger.folder, SPEC)

    said = ["the driver agent-browser had not started, so 2 of its trials began when the run was resumed"]
    assert (again.done, manifest(ledger.folder)["deviations"]) == (
        {"ended", "lost-at-once", "lost-later", "no-chrome"},
        said,
    )
    assert (ledger.folder / "rows.jsonl").read_bytes().splitlines(keepends=True) == [before[0], *before[3:]]
    left = {path.name for path in (ledger.folder / "trials").iterdir()} - again.done
    assert left == {"not-begun-2"}  # there is something in it


def test_a_run_that_never_began_a_trial_is_resumed(ledger: Ledger) -> None:
    assert resume_ledger(ledger.folder, SPEC).done == set()


def test_a_damaged_line_in_the_middle_is_refused_and_nothing_is_written(ledger: Ledger) -> None:
    path = ledger.folder / "rows.jsonl"
    path.write_bytes(b"{\n" + row("b").model_dump_json().encode() + b"\n")
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"rows\.jsonl\", line 1: not a row of version 1"):
        resume_ledger(ledger.folder, SPEC)
    assert path.read_bytes() == before


def test_another_spec_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UsageError) as refused:
        resume_ledger(ledger.folder, {"spec_digest": "e"})
    assert refused.value.message == (
        f'the run in "{ledger.folder}" has another spec; resume it with the same, or name another folder with --out'
    )


def test_what_differs_from_another_spec_is_named(tmp_path: Path) -> None:
    def task(name: str, digest: str) -> JsonValue:
        return {"suite": "notes", "name": name, "digest": digest}

    begun: dict[str, JsonValue] = {
        "spec_digest": "d",
        "prompt_digest": "p",
        "arms": ["a", "b"],
        "tasks": [task("one", "1"), task("two", "2")],
        "model": "scripted",
        "repeats": 2,
        "seed": 1,
        "fixtures": None,
        "protocol": "1",
    }
    new_ledger(tmp_path, begun)
    changes: list[tuple[dict[str, JsonValue], str]] = [
        ({"seed": 2, "arms": ["b", "a"]}, "arms, seed"),
        ({"model": "other", "repeats": 3, "fixtures": "mine", "protocol": "2"}, "model, repeats, fixtures, protocol"),
        ({"tasks": [task("one", "1")]}, "tasks"),
        ({"tasks": [task("one", "9"), task("two", "2")]}, 'the files of "notes/one"'),
        ({"tasks": None, "prompt_digest": "q"}, "tasks, the bot's instructions"),
    ]
    for change, said in changes:
        with pytest.raises(UsageError) as refused:
            resume_ledger(tmp_path, {**begun, **change, "spec_digest": "e"})
        assert refused.value.message == (
            f'the run in "{tmp_path}" has another spec, which differs in {said}; '
            "resume it with the same, or name another folder with --out"
        )


def test_an_occupied_folder_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="is not empty; name another with --out, or use --resume"):
        new_ledger(ledger.folder, {})


@pytest.mark.parametrize("trial_id", ["", "../a", "a/b", "A", "a" * 201])
def test_what_is_no_trial_id_never_becomes_a_path(ledger: Ledger, trial_id: str) -> None:
    with pytest.raises(ValueError, match="not a trial id"), ledger.trial(trial_id):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_stops_the_run_and_counts_no_row(ledger: Ledger) -> None:
    (ledger.folder / "rows.jsonl").symlink_to("/dev/full")
    with pytest.raises(RunStopped) as caught:
        ledger.append(row("a"))
    assert (caught.value.message, ledger.done) == (
        "the row of trial a cannot be written (No space left on device); "
        "the run has stopped with 0 rows and can be resumed with --resume",
        set(),
    )
    with pytest.raises(UsageError, match="is not a file"):
        resume_ledger(ledger.folder, SPEC)


def test_a_folder_that_is_gone_stops_the_run(ledger: Ledger) -> None:
    os.rename(ledger.folder, ledger.folder.with_name("moved"))  # noqa: PTH104 - as another program does it
    with pytest.raises(RunStopped, match="the row of trial a cannot be written"):
        ledger.append(row("a"))
    with pytest.raises(RunStopped, match=r"manifest\.json cannot be written"):
        ledger.deviate("x")
    ledger.folder.touch()
    with pytest.raises(RunStopped, match="the folder of trial a cannot be made: Not a directory"), ledger.trial("a"):
        pass
