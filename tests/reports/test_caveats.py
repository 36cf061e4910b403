"""What a run cannot tell follows from its own rows."""

from collections.abc import Callable
from pathlib import Path

from reports.caveats import caveats
from reports.load import load_run
from reports.row import Row, Usage

WALL = "Wall time contains the model, prescribed waits and the start of the browser; the stages show where it went."
NOISE = "No arm was compared with itself, so the noise of this machine is not measured."


def test_a_scripted_run(rows: list[Row], write_run: Callable[..., Path]) -> None:
    assert caveats(load_run(write_run(rows))) == [
        "n is 2 for each suite and arm. Differences of this run are descriptions, not tests: there is no interval, "
        "and no percentile beyond the median and the maximum.",
        "Times hold for the machine that the run was made on (Linux, x86_64) and its load at that time.",
        "The model is a script: it uses no tokens, and its success shows that a rendering holds what the task needs, "
        "not how a language model would read it.",
        "Recorded tokens are unknown for 12 of 12 trials; estimates do not replace them.",
        "Estimated tokens count text by o200k_base; a model may count it otherwise.",
        "Success does not separate the arms: 12 of 12 compared trials succeeded.",
        "An effect of the arm and of its place in the order cannot be told apart for current/local/conservative.",
        NOISE,
        WALL,
    ]


def test_a_broken_run(make_row: Callable[..., Row], write_run: Callable[..., Path]) -> None:
    row = make_row(outcome="route_failed", success=None, usage=Usage(total=5))
    found = caveats(load_run(write_run([row])))
    assert found[:2] == [
        "No trial is a completed comparison, so the run says nothing about how the arms differ.",
        "The machine is not known, so times cannot be set beside those of another run.",
    ]
    assert found[2] == "12 of 12 planned trials have no row."


def test_no_rows(write_run: Callable[..., Path]) -> None:
    assert caveats(load_run(write_run([]))) == ["Nothing: no trial has a row yet."]
