"""The registry: its names, and what each formatter needs."""

from formatters.catalog import FORMATTERS, get


def test_names_and_needs() -> None:
    assert {name: formatter.needs for name, formatter in FORMATTERS.items()} == {
        "conservative": "native",
        "verbatim": "native",
        "structured": "tree",
        "page-text": "text",
    }
    assert all(get(name).name == name for name in FORMATTERS)
