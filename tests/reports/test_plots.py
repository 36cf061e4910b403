"""Plots: deterministic, with text as text, one mark for each trial."""

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from reports.plots import plots
from reports.row import Row


def test_titles_in_order(rows: list[Row]) -> None:
    assert [plot.title for plot in plots(rows)] == [
        "Observation size, target local",
        "Estimated tokens, target local",
        "Latency by stage, notes, target local",
        "Latency by stage, orders, target local",
    ]


def test_the_same_rows_give_the_same_bytes(rows: list[Row]) -> None:
    assert plots(rows) == plots(rows)


def test_the_description_says_the_medians(rows: list[Row]) -> None:
    description = plots([row for row in rows if row.suite == "notes"])[0].description
    assert description == (
        "Observation size, target local. Medians: notes, current/local/page-text: 1,015 (n = 2); "
        "notes, current/local/conservative: 2,415 (n = 2); notes, current/local/structured: 2,015 (n = 2)."
    )


def test_drawings_are_well_formed_with_text_and_without_links(rows: list[Row]) -> None:
    ids: list[str] = []
    for plot in plots(rows):
        root = ElementTree.fromstring(plot.svg)
        words = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {plot.title, "current/local/structured"} <= words
        found = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
        links = [value for node in root.iter() for name, value in node.attrib.items() if name.endswith("href")]
        assert set(links) <= {f"#{name}" for name in found}
        ids += found
    assert len(ids) == len(set(ids))


def test_targets_have_their_own_plots(make_row: Callable[..., Row]) -> None:
    drawn = plots([make_row(obs_chars=1), make_row(target="container", obs_chars=2)])
    assert [plot.title for plot in drawn] == ["Observation size, target container", "Observation size, target local"]


def test_nothing_known_nothing_drawn(make_row: Callable[..., Row]) -> None:
    assert plots([]) == []
    assert plots([make_row()]) == []


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_one_value_is_enough(value: float, make_row: Callable[..., Row]) -> None:
    stage = {"ax": {"n": 1, "sum": value, "median": value, "max": value}}
    assert len(plots([make_row(obs_chars=0, stages=stage)])) == 2


def test_many_arms_with_long_and_odd_names(make_row: Callable[..., Row]) -> None:
    rows = [make_row(formatter=f"{i}-$x_{{$-<b>\u202e日本{'long' * 20}", obs_chars=i) for i in range(9)]
    [plot] = plots(rows)
    ElementTree.fromstring(plot.svg)
    assert "\u202e" not in plot.svg + plot.description
