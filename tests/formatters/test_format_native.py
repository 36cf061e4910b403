"""Native text without an observation."""

import pytest

from formatters.errors import NotNativeFormatter, UnknownFormatter
from formatters.format_native import FormattedText, format_native


def test_conservative() -> None:
    assert format_native('- generic\n  - link "\ud800" [ref=e1]', "conservative") == FormattedText(
        text='- link "\\ud800"',
        verbatim=False,
        truncated=False,
        chars_shown=15,
        chars_total=15,
        lines_shown=1,
        lines_total=1,
        chars_in=31,
        rules={"refs": 1, "scaffolds": 1, "heading_echo": 0},
    )


def test_verbatim() -> None:
    assert format_native("- generic [ref=e1]\n", "verbatim") == FormattedText(
        text="- generic [ref=e1]\n",
        verbatim=True,
        truncated=False,
        chars_shown=19,
        chars_total=19,
        lines_shown=2,
        lines_total=2,
        chars_in=19,
        rules={"refs": 0, "scaffolds": 0, "heading_echo": 0},
    )


def test_empty() -> None:
    answer = format_native("", "conservative")
    assert (answer.text, answer.lines_total, answer.chars_in) == ("", 0, 0)


@pytest.mark.parametrize("formatter", ["structured", "page-text"])
def test_formatter_of_another_read(formatter: str) -> None:
    with pytest.raises(NotNativeFormatter) as caught:
        format_native("", formatter)
    assert caught.value.message == (
        f"the formatter {formatter!r} does not take native snapshot text; these do: conservative, verbatim"
    )


def test_unknown_formatter() -> None:
    with pytest.raises(UnknownFormatter):
        format_native("", "pretty")
