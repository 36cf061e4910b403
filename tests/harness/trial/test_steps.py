"""The sums of a trial: unknown stays unknown; the harness's own time leaves out driver, model, settling and waits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import RunStopped
from harness.host.calls import CallTimes
from harness.models.base import ToolCall
from harness.tools.answer import Answer
from harness.trial.steps import ELSEWHERE, StepLog, Turn
from reports.load import load_steps
from reports.row import StageTime, Usage

WAIT = ToolCall(name="wait", arguments={"ms": 1})


def new_log(folder: Path, device: str | None = None) -> StepLog:
    file = (Path(device) if device is not None else folder / "steps.jsonl").open("ab", buffering=0)
    return StepLog(folder=folder, file=file, encoding=None, facts=("one", "two"))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[StepLog]:
    folder = tmp_path / "trials" / "t"
    folder.mkdir(parents=True)
    made = new_log(folder)
    yield made
    made.file.close()


@pytest.mark.parametrize(
    ("reported", "total"),
    [
        ([], None),
        ([None, None], None),
        ([None, Usage(output=3)], Usage(output=3)),
        ([Usage(output=3, cache_read=0), Usage(output=4), Usage(total=9)], Usage(output=7, cache_read=0, total=9)),
        ([Usage()], Usage()),
    ],
)
def test_usage_is_the_sum_of_what_was_reported(log: StepLog, reported: list[Usage | None], total: Usage | None) -> None:
    for usage in reported:
        log.count_usage(usage)
    assert log.usage() == total


def test_facts_are_counted_once_wherever_they_are_shown(log: StepLog) -> None:
    for text in ("one", "one and more", "nothing"):
        log.count(Answer(text=text))
    assert log.facts_kept() == 1


def test_stages_are_summed_up(log: StepLog) -> None:
    for ms in (1.0, 6.0, 2.0):
        log.sample("act", ms)
    assert log.stages() == {"act": StageTime(n=3, sum=9.0, median=2.0, max=6.0)}


def test_the_harness_is_what_no_other_stage_accounts_for(log: StepLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.trial.steps.time.perf_counter", lambda: 11.0)
    turn = Turn(log=log, _start=10.0)
    times = CallTimes(approval_ms=100.0, wait_ms=100.0, run_ms=250.0, total_ms=460.0)
    for name in ("attach", "navigate", "ax", "text", "dom", "act", "settle", "wait"):
        times.stages.add(name, 20.0)
    turn.stages.add("model", 20.0)
    times.stages.add("format", 40.0)
    turn.finish(WAIT, Answer(text="Waited."), times)
    monkeypatch.undo()
    own = dict.fromkeys(("attach", "navigate", "ax", "text", "dom", "model", "act", "settle", "wait"), 20.0)
    around = {"approval": 100.0, "queue": 100.0, "authority": 10.0}
    assert {name: stage.sum for name, stage in log.stages().items()} == {
        **own,
        **around,
        "format": 40.0,
        "harness": 1000.0 - 9 * 20.0 - 210.0,
    }
    assert set(ELSEWHERE) == {*own, *around}
    assert log.approval_s == 0.1


def test_a_step_is_read_by_the_reports(log: StepLog, tmp_path: Path) -> None:
    times = CallTimes(run_ms=5.0, total_ms=5.5)
    times.stages.add("wait", 5.0)
    answer = Answer(text="Refused: covered.", outcome="covered", input_sent=False, screenshot=b"jpeg")
    log.turn().finish(ToolCall(name="\ud800" * 99, arguments={"deep": [1, None]}), answer, times)
    (step,) = load_steps(tmp_path, "t").steps
    assert (step.n, step.tool, step.arguments, step.answer, step.outcome, step.input_sent, step.stages_ms) == (
        1,
        "\\ud800" * 64,
        {"deep": [1, None]},
        "Refused: covered.",
        "covered",
        False,
        {"wait": 5.0, "queue": 0.0, "authority": 0.5},
    )
    assert (step.rendering, step.chars, step.est_tokens) == (None, None, None)
    assert (log.folder / "step-001.jpg").read_bytes() == b"jpeg"
    assert (log.calls, log.observations, log.refusals, log.errors) == (1, 0, 1, 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_stops_the_run_and_the_file_still_closes(tmp_path: Path) -> None:
    log = new_log(tmp_path, "/dev/full")
    with pytest.raises(RunStopped, match="a step cannot be written: No space left on device"), log.file:
        log.turn().finish(WAIT, Answer(text="Waited."), CallTimes())


def test_a_folder_that_is_gone_stops_the_run(tmp_path: Path) -> None:
    log = new_log(tmp_path, "/dev/null")
    log.folder = tmp_path / "gone"
    with pytest.raises(RunStopped, match="a screenshot cannot be written: No such file"), log.file:
        log.turn().finish(WAIT, Answer(text="Took.", screenshot=b""), CallTimes())
