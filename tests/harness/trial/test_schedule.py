"""The order of trials: blocks of neighbours, the second of two repeats reversed, all of it from the seed."""

from pathlib import Path

import pytest

from harness.trial.schedule import schedule
from harness.trial.spec import SpecFile, build_spec
from harness.trial.tasks import load_tasks

TASKS = load_tasks(Path(__file__).parents[3] / "fixtures")
FAKE = ["fake/fake/verbatim", "fake/fake/structured"]


def test_the_whole_default_schedule() -> None:
    planned = schedule(build_spec(SpecFile(), TASKS))
    assert [f"{trial.trial_id} {trial.position}" for trial in planned] == [
        "notes.two-notes.local.1.current.structured 0",
        "notes.two-notes.local.1.agent-browser.conservative 1",
        "notes.two-notes.local.1.current.page-text 2",
        "orders.limited-order.local.1.agent-browser.conservative 0",
        "orders.limited-order.local.1.current.page-text 1",
        "orders.limited-order.local.1.current.structured 2",
        "notes.two-notes.local.2.current.page-text 0",
        "notes.two-notes.local.2.agent-browser.conservative 1",
        "notes.two-notes.local.2.current.structured 2",
        "orders.limited-order.local.2.current.structured 0",
        "orders.limited-order.local.2.current.page-text 1",
        "orders.limited-order.local.2.agent-browser.conservative 2",
    ]
    assert {trial.block_id for trial in planned} == {
        f"{task}.local.{repeat}" for task in ("notes.two-notes", "orders.limited-order") for repeat in (1, 2)
    }


@pytest.mark.parametrize("seed", range(5))
def test_every_second_repeat_is_the_reverse_of_the_one_before(seed: int) -> None:
    spec = build_spec(SpecFile(seed=seed, repeats=5, tasks=["notes"]), TASKS)
    planned = schedule(spec)
    orders = [[trial.arm for trial in planned if trial.repeat == repeat] for repeat in range(1, 6)]
    assert [orders[1], orders[3]] == [orders[0][::-1], orders[2][::-1]]
    assert {frozenset(order) for order in orders} == {frozenset(spec.arms)}
    assert planned == schedule(spec)


def test_seeds_give_different_orders() -> None:
    orders = {tuple(trial.trial_id for trial in schedule(build_spec(SpecFile(seed=seed), TASKS))) for seed in range(20)}
    assert len(orders) > 10


def test_targets_are_blocks_of_their_own() -> None:
    spec = build_spec(SpecFile(arms=[FAKE[0], "current/local/verbatim", FAKE[1]], repeats=1, tasks=["notes"]), TASKS)
    blocks = {(trial.block_id, str(trial.arm)) for trial in schedule(spec)}
    assert blocks == {
        ("notes.two-notes.fake.1", FAKE[0]),
        ("notes.two-notes.fake.1", FAKE[1]),
        ("notes.two-notes.local.1", "current/local/verbatim"),
    }


def test_a_bounded_arm_has_trials_of_its_own() -> None:
    arms = ["current/local/structured", "current/local/structured+bounded"]
    planned = schedule(build_spec(SpecFile(arms=arms, repeats=1, tasks=["notes"]), TASKS))
    assert sorted((trial.trial_id, str(trial.arm)) for trial in planned) == [
        ("notes.two-notes.local.1.current.structured", "current/local/structured"),
        ("notes.two-notes.local.1.current.structured-bounded", "current/local/structured+bounded"),
    ]
