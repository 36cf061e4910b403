"""Numbers and hostile text as people read them."""

import pytest

from reports.text import bounded, markdown, number, one_line, signed, visible


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (None, 0, "unknown"),
        (0, 0, "0"),
        (1234567, 0, "1,234,567"),
        (2.5, 0, "2.5"),
        (3, 2, "3.00"),
        (0.456, None, "0.46"),
        (45.67, None, "45.7"),
        (9.999, None, "10.0"),
        (4567.8, None, "4,568"),
    ],
)
def test_number(value: float | None, digits: int | None, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unknown"), (0.0, "0.00"), (0.001, "0.00"), (1.5, "+1.50"), (-20.0, "\N{MINUS SIGN}20.00")],
)
def test_signed(value: float | None, text: str) -> None:
    assert signed(value, 2) == text


def test_invisible_characters_are_written_out() -> None:
    assert visible("a\u202eb\x00c\u2028d\U000e0041e\r\u200bé\n\t") == (
        "a\\u202eb\\u0000c\\u2028d\\U000e0041e\\u000d\\u200bé\n\t"
    )


def test_bounds_say_what_was_cut() -> None:
    assert bounded("abc", 3) == "abc"
    assert bounded("abcd", 3) == "abc [cut: 3 of 4 characters shown]"
    assert one_line("a\n b\t\tc", 4) == "a b  [cut: 4 of 5 characters shown]"


def test_markdown_takes_no_markup_from_text() -> None:
    assert markdown("| <b>*x*</b> [a](http://h) `c` www.h &amp;\n# t") == (
        "\\| &lt;b&gt;\\*x\\*&lt;/b&gt; \\[a\\](http:\\/\\/h) \\`c\\` www\\.h &amp;amp; \\# t"
    )
