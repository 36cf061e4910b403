"""The registry: its names, and what each formatter needs."""

from formatters.catalog import FORMATTERS, get


def test_names_and_needs() -> None:
    assert {name: formatter.needs for name, formatter in FORMATTERS.items()} == {
        "conservative": "native",
        "verbatim": "native",
        "structured": "tree",
        "inline": "tree",
        "page-text": "text",
    }
    assert all(get(name).name == name for name in FORMATTERS)
    assert [name for name, formatter in FORMATTERS.items() if formatter.joined] == ["inline"]
    assert [name for name, formatter in FORMATTERS.items() if formatter.filled] == ["structured", "inline"]
