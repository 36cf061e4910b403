"""The task whose answer and control lie far on: done with paging, and out of reach without."""

from pathlib import Path

import pytest

from harness.config import load_settings
from harness.drivers.native_pin import NativeBinary
from harness.trial.ledger import new_ledger
from harness.trial.manifest import new_manifest
from harness.trial.run import RunPlan, run
from harness.trial.schedule import schedule
from harness.trial.spec import SpecFile, build_spec
from harness.trial.tasks import load_tasks
from reports.row import Row

FIXTURES = Path(__file__).parents[3] / "fixtures"


async def outcomes(arms: list[str], folder: Path) -> dict[str, Row]:
    """The rows of one repeat of the task, by formatter."""
    spec = build_spec(SpecFile(arms=arms, tasks=["long/one-of-many"], repeats=1), load_tasks(FIXTURES))
    settings = load_settings().model_copy(update={"state_dir": folder / "state"})
    plan = RunPlan(spec=spec, trials=schedule(spec), settings=settings, encoding=None, encoding_name=None)
    rows = await run(plan, new_ledger(folder / "run", new_manifest(spec, plan.trials, None)), lambda _row: None)
    return {row.formatter: row for row in rows}


@pytest.mark.browser
@pytest.mark.timeout(180)
async def test_with_paging_it_is_done_and_without_it_is_not(tmp_path: Path) -> None:
    arms = ["structured", "structured+paging", "structured+bounded+paging", "page-text+paging"]
    rows = await outcomes([f"current/local/{arm}" for arm in arms], tmp_path)
    assert {name: (row.outcome, row.success) for name, row in rows.items()} == {
        "structured": ("bot_gave_up", False),
        "structured+paging": ("completed", True),
        "structured+bounded+paging": ("completed", True),
        "page-text+paging": ("completed", True),
    }
    without, bounded = rows["structured"], rows["structured+bounded+paging"]
    assert without.error is not None
    assert without.error.startswith('Step 3: the tool answered "Failed: observe: \\"page\\": Extra inputs')
    assert (without.facts_kept, bounded.facts_kept, bounded.observations) == (6, 12, 5)
    assert {row.trial_id.rpartition("current.")[2] for row in rows.values()} == {arm.replace("+", "-") for arm in arms}


@pytest.mark.browser
@pytest.mark.timeout(180)
async def test_the_native_driver_does_it_too(tmp_path: Path, native_binary: NativeBinary) -> None:
    rows = await outcomes(["agent-browser/local/conservative+paging"], tmp_path)
    assert rows["conservative+paging"].outcome == "completed"
