"""What a run's folder may hold, and what is said about one that cannot be read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.errors import ManifestError, RunFolderError, StepsError, TrialIdError
from reports.load import Step, load_run, load_steps
from reports.row import Row, RowError

STEP = {
    "n": 1,
    "at_ms": 12.5,
    "tool": "observe",
    "arguments": {"deep": [1, None]},
    "answer": "Observation follows.",
    "outcome": "ok",
    "rendering": "URL: x",
    "chars": 6,
    "utf8_bytes": 6,
    "est_tokens": 2,
    "verbatim": False,
    "truncated": False,
    "stages_ms": {"ax": 3.5},
    "input_sent": None,
}


def test_rows_come_back_as_written(rows: list[Row], write_run: Callable[..., Path]) -> None:
    run = load_run(write_run(rows))
    assert (run.rows, run.notes) == (rows, [])


def test_a_run_without_rows_yet(write_run: Callable[..., Path]) -> None:
    folder = write_run([])
    (folder / "rows.jsonl").unlink()
    assert load_run(folder).rows == []


def test_a_torn_last_line_is_a_note(rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows[:2])
    with (folder / "rows.jsonl").open("ab") as file:
        file.write('{"row_version": 1, "trial_id": "é'.encode()[:-1])
    run = load_run(folder)
    assert run.rows == rows[:2]
    assert run.notes == ["rows.jsonl, line 3 is torn: the run was stopped while it wrote it. It is not counted."]


def test_a_last_line_without_its_line_break_is_torn(rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows[:2])
    path = folder / "rows.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    run = load_run(folder)
    note = "rows.jsonl, line 2 is torn: the run was stopped while it wrote it. It is not counted."
    assert (run.rows, run.notes) == (rows[:1], [note])


@pytest.mark.parametrize("bad", [b"{}", b"", b"\xff", b"{", b'{"row_version": 2}'])
def test_any_other_bad_line_names_file_and_line(bad: bytes, rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows[:1])
    path = folder / "rows.jsonl"
    path.write_bytes(path.read_bytes() + bad + b"\n")
    with pytest.raises(RowError, match=r"rows\.jsonl, line 2: "):
        load_run(folder)


def test_line_separators_in_text_do_not_end_a_line(
    make_row: Callable[..., Row], write_run: Callable[..., Path]
) -> None:
    row = make_row(error="a\u2028b\u0085c\rd")
    assert load_run(write_run([row])).rows == [row]


def test_two_rows_of_one_trial_are_noted(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    run = load_run(write_run([make_row(outcome="interrupted", success=None), make_row()]))
    assert run.notes == ["Trial notes.simple.r1.a has 2 rows; each is counted as a trial that was started."]


def test_folders_that_are_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"gone is not a folder; name the folder of a run"):
        load_run(tmp_path / "gone")
    with pytest.raises(RunFolderError, match=r" is empty; name the folder of a run\.$"):
        load_run(tmp_path)
    (tmp_path / "other.txt").touch()
    with pytest.raises(RunFolderError, match=r" holds no manifest\.json; name the folder of a run\.$"):
        load_run(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", "null", '{"seed": NaN}', "\xff"])
def test_a_manifest_that_is_no_object(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content, encoding="latin-1")
    with pytest.raises(ManifestError, match=r"manifest\.json is not "):
        load_run(tmp_path)


def test_odd_manifest_values_read_as_not_known(tmp_path: Path) -> None:
    odd: dict[str, Any] = {
        "arms": "a/b/c",
        "schedule": [1, {"trial_id": "t"}],
        "tasks": None,
        "versions": [],
        "platform": {"os": 1.5},
        "deviations": [None, "x"],
        "seed": True,
    }
    (tmp_path / "manifest.json").write_text(json.dumps(odd))
    manifest = load_run(tmp_path).manifest
    assert (manifest.arms, manifest.schedule, manifest.tasks, manifest.versions) == ((), (), (), ())
    assert (manifest.machine, manifest.deviations, manifest.text("seed")) == ("1.5", ("x",), None)


def test_steps(rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows, {"notes.r1.structured": [STEP]})
    assert load_steps(folder, "notes.r1.structured").steps == [Step.model_validate(STEP)]
    assert load_steps(folder, "notes.r1.page-text").steps == []


def test_a_torn_step_is_a_note_and_a_bad_one_an_error(rows: list[Row], write_run: Callable[..., Path]) -> None:
    folder = write_run(rows, {"t": [STEP]})
    path = folder / "trials" / "t" / "steps.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    loaded = load_steps(folder, "t")
    assert len(loaded.steps) == 1
    assert loaded.notes == ["trials/t/steps.jsonl, line 2 is torn: the trial was stopped while it wrote it."]
    path.write_bytes(b'{"n": "1"}\n' + whole)
    with pytest.raises(StepsError, match=r"^trials/t/steps\.jsonl, line 1 is not a step: n: "):
        load_steps(folder, "t")


@pytest.mark.parametrize("trial_id", ["", ".", "..", "../x", "a/b", "A", "a\n", "a\x00", "é"])
def test_trial_ids_that_must_not_become_a_path(trial_id: str, tmp_path: Path) -> None:
    with pytest.raises(TrialIdError, match="may hold only"):
        load_steps(tmp_path, trial_id)
