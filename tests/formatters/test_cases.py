"""The cases of the contract: text and counts to the character."""

import json
from pathlib import Path

import pytest

from formatters.format_native import format_native

_FOLDER = Path(__file__).parent.parent / "cases" / "formatter"
_NAMES = sorted(path.stem for path in _FOLDER.glob("*.txt"))


def test_there_are_cases() -> None:
    assert len(_NAMES) >= 58


@pytest.mark.parametrize("name", _NAMES)
def test_case(name: str) -> None:
    text = (_FOLDER / f"{name}.txt").read_bytes().decode("utf-8")
    expected = json.loads((_FOLDER / f"{name}.expected.json").read_bytes())
    answer = format_native(text, "conservative")
    assert {
        "text": answer.text,
        "verbatim": answer.verbatim,
        "truncated": answer.truncated,
        "chars_shown": answer.chars_shown,
        "chars_total": answer.chars_total,
        "lines_shown": answer.lines_shown,
        "lines_total": answer.lines_total,
    } == expected
