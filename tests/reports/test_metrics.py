"""The summary tables: whole values of small runs, and None that stays None."""

from collections.abc import Callable

import pandas as pd

from reports.metrics import OUTCOMES, flat_names, flatten, summary
from reports.row import STAGES, Row, StageTime, Usage


def _shown(table: pd.DataFrame, *names: str) -> list[tuple[object, ...]]:
    return [tuple(None if value is pd.NA else value for value in line) for line in table[list(names)].to_numpy()]


def test_one_line_for_each_suite_and_arm(rows: list[Row]) -> None:
    tables = summary(rows)
    assert list(tables) == ["local"]
    names = ("suite", "arm", "started", "compared", "succeeded", "obs_chars_median", "obs_utf8_bytes_median")
    assert _shown(tables["local"], *names) == [
        ("notes", "current/local/page-text", 2, 2, 2, 1015.0, 1018.0),
        ("notes", "current/local/conservative", 2, 2, 2, 2415.0, 2418.0),
        ("notes", "current/local/structured", 2, 2, 2, 2015.0, 2018.0),
        ("orders", "current/local/page-text", 2, 2, 2, 3015.0, 3018.0),
        ("orders", "current/local/conservative", 2, 2, 2, 7215.0, 7218.0),
        ("orders", "current/local/structured", 2, 2, 2, 6015.0, 6018.0),
    ]


def test_a_line_in_full(rows: list[Row]) -> None:
    table = summary(rows)["local"]
    line = {str(name): None if value is pd.NA else value for name, value in table.iloc[0].to_dict().items()}
    stages = dict.fromkeys(STAGES, (None, 0, None)) | {
        "attach": (600.0, 2, 1800.0),
        "ax": (11.5, 2, 36.0),
        "format": (0.5, 2, 1.5),
    }
    expected: dict[str, object] = {"suite": "notes", "arm": "current/local/page-text"}
    expected |= {"started": 2, "compared": 2, "succeeded": 2}
    expected |= {f"outcome_{name}": 2 if name == "completed" else 0 for name in OUTCOMES}
    expected |= {"obs_chars_median": 1015.0, "obs_chars_known": 2}
    expected |= {"obs_utf8_bytes_median": 1018.0, "obs_utf8_bytes_known": 2}
    expected |= {"est_tokens_median": 251.5, "est_tokens_known": 2, "est_encoding": "o200k_base"}
    expected |= {"usage_total_median": None, "usage_total_known": 0}
    expected |= {"wall_excl_approval_s_median": 5.5, "wall_excl_approval_s_known": 2}
    expected |= {"calls_median": 15.0, "calls_known": 2, "observations_median": 7.0, "observations_known": 2}
    expected |= {"refusals_median": 0.0, "refusals_known": 2}
    expected |= {"facts_kept": 24, "facts_total": 24, "facts_known": 2}
    for stage, (middle, known, peak) in stages.items():
        expected |= {f"stage_{stage}_median_ms": middle, f"stage_{stage}_known": known, f"stage_{stage}_max_ms": peak}
    assert line == expected


def test_targets_are_never_pooled(make_row: Callable[..., Row]) -> None:
    tables = summary([make_row(obs_chars=10), make_row(target="container", obs_chars=1000)])
    names = ("arm", "started", "obs_chars_median")
    assert {target: _shown(table, *names) for target, table in tables.items()} == {
        "container": [("current/container/structured", 1, 1000.0)],
        "local": [("current/local/structured", 1, 10.0)],
    }


def test_unknown_stays_unknown_and_known_values_are_counted(make_row: Callable[..., Row]) -> None:
    rows = [make_row(), make_row(obs_chars=8, usage=Usage(total=100)), make_row(obs_chars=4, usage=Usage(output=3))]
    names = ("obs_chars_median", "obs_chars_known", "calls_median", "calls_known", "usage_total_median", "facts_kept")
    assert _shown(summary(rows)["local"], *names) == [(6.0, 2, None, 0, 100.0, None)]


def test_faults_around_a_trial_are_counted_and_stay_out_of_medians(make_row: Callable[..., Row]) -> None:
    rows = [
        make_row(obs_chars=10),
        make_row(outcome="driver_failed", success=None, obs_chars=1),
        make_row(outcome="wrong_result", success=False, obs_chars=30),
    ]
    names = ("started", "compared", "succeeded", "outcome_driver_failed", "outcome_wrong_result", "obs_chars_median")
    assert _shown(summary(rows)["local"], *names) == [(3, 2, 1, 1, 1, 20.0)]


def test_completed_without_a_true_read_back_is_no_success(make_row: Callable[..., Row]) -> None:
    rows = [make_row(success=None), make_row(success=False), make_row(outcome="refused", success=True)]
    assert _shown(summary(rows)["local"], "compared", "succeeded") == [(3, 0)]


def test_estimates_of_two_encodings_have_no_common_median(make_row: Callable[..., Row]) -> None:
    rows = [make_row(est_tokens=4, est_encoding="a"), make_row(est_tokens=6, est_encoding="b")]
    assert _shown(summary(rows)["local"], "est_tokens_median", "est_tokens_known", "est_encoding") == [
        (None, 2, "a, b")
    ]


def test_values_that_are_no_number_are_not_known(make_row: Callable[..., Row]) -> None:
    empty = StageTime(n=0, sum=0.0, median=0.0, max=0.0)
    row = make_row(wall_excl_approval_s=float("nan"), stages={"ax": empty})
    names = ("wall_excl_approval_s_median", "stage_ax_median_ms", "stage_ax_known", "stage_ax_max_ms")
    assert _shown(summary([row])["local"], *names) == [(None, None, 0, None)]


def test_arms_keep_the_order_of_the_manifest(rows: list[Row]) -> None:
    arms = ("current/local/structured", "current/local/page-text")
    table = summary([row for row in rows if row.suite == "notes"], arms)["local"]
    assert table["arm"].to_list() == [*arms, "current/local/conservative"]


def test_no_rows_no_tables() -> None:
    assert summary([]) == {}


def test_the_flat_names_are_the_keys_of_a_flat_row(rows: list[Row], make_row: Callable[..., Row]) -> None:
    for row in (rows[0], make_row()):
        assert list(flatten(row)) == flat_names()
