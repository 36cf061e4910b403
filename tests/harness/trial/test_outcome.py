"""How a trial ended: every end with a right, a wrong and a missing state."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.trial.outcome import End, Ended, judge
from harness.trial.tasks import load_tasks

NOTES = load_tasks(Path(__file__).parents[3] / "fixtures")["notes/two-notes"]
State = dict[str, JsonValue]
RIGHT: State = {"records": NOTES.expected["records"], "reads": {"one": 3}}
WRONG: State = {"records": {"notes": []}}
MISSING = ("readback_missing", None)


@pytest.mark.parametrize(
    ("end", "right", "wrong", "missing"),
    [
        ("done", ("completed", True), ("wrong_result", False), MISSING),
        ("gave_up", ("bot_gave_up", False), ("bot_gave_up", False), MISSING),
        ("limit_calls", ("limit_calls", False), ("limit_calls", False), MISSING),
        ("limit_time", ("limit_time", False), ("limit_time", False), MISSING),
        ("driver_failed", ("driver_failed", None), ("driver_failed", None), ("driver_failed", None)),
        ("route_failed", ("route_failed", None), ("route_failed", None), ("route_failed", None)),
    ],
)
def test_every_end_with_every_state(
    end: End, right: tuple[str, bool], wrong: tuple[str, bool], missing: tuple[str, bool | None]
) -> None:
    verdicts = [judge(Ended(end=end), state, NOTES) for state in (RIGHT, WRONG, None)]
    assert [(verdict.outcome, verdict.success) for verdict in verdicts] == [right, wrong, missing]


@pytest.mark.parametrize("state", [RIGHT, WRONG])
def test_giving_up_after_a_refusal_is_an_outcome_of_its_own(state: State) -> None:
    verdict = judge(Ended(end="gave_up", refused=True), state, NOTES)
    assert (verdict.outcome, verdict.success) == ("refused", False)
