"""Paired differences: whole values, and blocks that are left out with their reasons."""

from collections.abc import Callable
from typing import Any

from reports.compare import compare
from reports.manifest import Manifest
from reports.row import Row

A, B, C = "current/local/page-text", "current/local/conservative", "current/local/structured"


def _differences(pair: Any) -> dict[str, tuple[object, ...]]:
    return {d.measure.name: (d.n, d.unknown, d.median, d.minimum, d.maximum) for d in pair.differences if d.n}


def test_every_pair_of_arms_by_suite(rows: list[Row], manifest: dict[str, Any]) -> None:
    pairs = compare(rows, Manifest(data=manifest))
    assert [(pair.suite, pair.first, pair.second, pair.blocks) for pair in pairs] == [
        (suite, first, second, 2) for suite in ("notes", "orders") for first, second in ((A, B), (A, C), (B, C))
    ]


def test_a_pair_in_full(rows: list[Row], manifest: dict[str, Any]) -> None:
    pair = compare(rows, Manifest(data=manifest))[0]
    assert (pair.both, pair.only_first, pair.only_second, pair.neither) == (2, 0, 0, 0)
    assert (pair.excluded, pair.unfinished, pair.interval) == ((), 0, "n = 2 is too small for an interval")
    assert _differences(pair) == {
        "obs_chars": (2, 0, 1400.0, 1400.0, 1400.0),
        "obs_utf8_bytes": (2, 0, 1400.0, 1400.0, 1400.0),
        "est_tokens": (2, 0, 350.0, 350.0, 350.0),
        "wall_excl_approval_s": (2, 0, 0.0, 0.0, 0.0),
        "stage_attach_median_ms": (2, 0, 0.0, 0.0, 0.0),
        "stage_ax_median_ms": (2, 0, 14.0, 14.0, 14.0),
        "stage_format_median_ms": (2, 0, 0.0, 0.0, 0.0),
    }


def test_faults_and_missing_rows_leave_their_block_out(rows: list[Row], manifest: dict[str, Any]) -> None:
    notes = [row for row in rows if row.suite == "notes" and row.formatter != "structured"]
    broken = notes[0].model_copy(update={"outcome": "driver_failed", "success": None})
    pairs = compare([broken, *notes[1:3]], Manifest(data=manifest))
    pair = pairs[0]
    assert (pair.blocks, pair.excluded) == (0, ((f"{A}: driver_failed", 1), (f"{A}: not run", 1)))
    assert all((d.n, d.median, d.minimum, d.maximum) == (0, None, None, None) for d in pair.differences)


def test_success_is_counted_by_pair(make_row: Callable[..., Row]) -> None:
    rows = []
    for block, (first, second) in enumerate([(True, True), (True, False), (False, True), (False, False)]):
        for formatter, success in (("a", first), ("b", second)):
            outcome = "completed" if success else "wrong_result"
            rows.append(make_row(block_id=str(block), formatter=formatter, outcome=outcome, success=success))
    [pair] = compare(rows, Manifest(data={}))
    assert (pair.both, pair.only_first, pair.only_second, pair.neither, pair.unfinished) == (1, 1, 1, 1, 3)


def test_a_number_unknown_on_one_side_gives_no_difference(make_row: Callable[..., Row]) -> None:
    rows = [
        make_row(block_id="1", formatter="a", obs_chars=10, est_tokens=1, est_encoding="x"),
        make_row(block_id="1", formatter="b", obs_chars=7, est_tokens=5, est_encoding="y"),
        make_row(block_id="2", formatter="a", obs_chars=10),
        make_row(block_id="2", formatter="b"),
    ]
    [pair] = compare(rows, Manifest(data={}))
    assert _differences(pair) == {"obs_chars": (1, 1, -3.0, -3.0, -3.0)}


def test_two_rows_of_an_arm_in_a_block(make_row: Callable[..., Row]) -> None:
    again = [make_row(formatter="a"), make_row(formatter="a"), make_row(formatter="b")]
    [pair] = compare(again, Manifest(data={}))
    assert pair.excluded == (("current/local/a: 2 rows in one block", 1),)
    retried = [make_row(formatter="a", outcome="interrupted", success=None), *again[1:]]
    [pair] = compare(retried, Manifest(data={}))
    assert (pair.blocks, pair.excluded) == (1, ())


def test_targets_are_never_paired(make_row: Callable[..., Row]) -> None:
    assert compare([make_row(), make_row(target="container")], Manifest(data={})) == ()


def test_nothing_to_compare() -> None:
    assert compare([], Manifest(data={})) == ()
