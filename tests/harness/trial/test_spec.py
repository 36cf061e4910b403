"""A run's spec: what is left out is the default run, and the digest follows everything that decides a trial."""

from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.trial.spec import (
    MAX_REPEATS,
    MAX_SEED,
    SpecFile,
    build_spec,
    parse_arm,
    pick_tasks,
    read_spec_file,
    with_options,
)
from harness.trial.tasks import load_tasks

TASKS = load_tasks(Path(__file__).parents[3] / "fixtures")


def test_the_default_run() -> None:
    spec = build_spec(SpecFile(), TASKS)
    assert ([str(arm) for arm in spec.arms], [task.key for task in spec.tasks]) == (
        ["current/local/page-text", "current/local/structured", "agent-browser/local/conservative"],
        ["notes/two-notes", "orders/limited-order"],
    )
    assert (spec.model, spec.repeats, spec.seed) == ("scripted", 2, 1)


def test_a_file_with_options_over_it(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text('arms = ["fake/fake/verbatim"]\ntasks = ["notes"]\nmodel = "scripted"\nrepeats = 3\nseed = 5\n')
    given = with_options(read_spec_file(path), {"repeats": 1, "tasks": None, "seed": 0})
    assert given == SpecFile(arms=["fake/fake/verbatim"], tasks=["notes"], model="scripted", repeats=1, seed=0)


@pytest.mark.parametrize(("repeats", "seed", "good"), [(MAX_REPEATS, MAX_SEED, True), (1, 0, True)])
def test_the_bounds_are_inside(repeats: int, seed: int, good: bool) -> None:
    spec = build_spec(with_options(SpecFile(tasks=["notes"]), {"repeats": repeats, "seed": seed}), TASKS)
    assert (len(spec.digest("")) == 64) is good


@pytest.mark.parametrize(
    "options", [{"repeats": MAX_REPEATS + 1}, {"repeats": 0}, {"seed": MAX_SEED + 1}, {"seed": -1}]
)
def test_the_bounds_hold_for_options_too(options: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        with_options(SpecFile(), options)


def test_a_task_that_is_named_twice_is_run_once_in_the_order_of_naming() -> None:
    picked = pick_tasks(["orders", "notes/two-notes", "notes", "orders/limited-order"], TASKS)
    assert [task.key for task in picked] == ["orders/limited-order", "notes/two-notes"]


@pytest.mark.parametrize(
    "change",
    [
        {"arms": ["current/local/page-text"]},
        {"arms": ["current/local/conservative", "current/local/page-text", "current/local/structured"]},
        {"tasks": ["notes"]},
        {"repeats": 3},
        {"seed": 2},
    ],
)
def test_the_digest_follows_every_part(change: dict[str, object]) -> None:
    plain = build_spec(SpecFile(), TASKS)
    changed = build_spec(SpecFile.model_validate(change), TASKS)
    assert plain.digest("prompt") == build_spec(SpecFile(), TASKS).digest("prompt")
    assert len({plain.digest("prompt"), changed.digest("prompt"), plain.digest("another prompt")}) == 3


@pytest.mark.parametrize(
    ("formatter", "ax", "paging"),
    [
        ("structured", "full", False),
        ("structured+bounded", "bounded", False),
        ("structured+paging", "full", True),
        ("structured+bounded+paging", "bounded", True),
        ("page-text+paging", "full", True),
    ],
)
def test_what_stands_behind_a_formatter(formatter: str, ax: str, paging: bool) -> None:
    arm = parse_arm(f"current/local/{formatter}")
    assert (arm.ax, arm.paging, arm.representation) == (ax, paging, formatter)
    assert str(arm) == f"current/local/{formatter}"


@pytest.mark.parametrize("formatter", ["structured+paging+bounded", "structured+paging+paging", "structured+fast"])
def test_nothing_else_stands_there(formatter: str) -> None:
    with pytest.raises(SpecError, match="names no known formatter"):
        parse_arm(f"current/local/{formatter}")


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        (
            "agent-browser/local/conservative+bounded",
            "the driver agent-browser reads whole pages alone, not bounded; take current",
        ),
        (
            "current/local/conservative+bounded",
            "the formatter conservative needs the whole page, not bounded; take structured, inline",
        ),
        (
            "current/local/inline+bounded+paging",
            "the formatter inline shows a document's beginning alone, without pages; "
            "take conservative, verbatim, structured, page-text",
        ),
    ],
)
def test_what_does_not_go_together(arm: str, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_arm(arm)
    assert refused.value.message == said
