"""The page text: tidied, escaped, cut."""

from formatters.bound import Bounded
from formatters.page_text import format_page_text
from observe.model import PageText


def _page(text: str, chars_total: int | None = None) -> PageText:
    return PageText(text=text, chars_total=len(text) if chars_total is None else chars_total)


def _first(page: PageText) -> Bounded:
    return format_page_text(page).first()


def test_white_space_is_tidied() -> None:
    bounded = _first(_page("\n\nOrders \t\n\n\u00a0\n \n3 open\n\n  A\tB\n\n"))
    assert bounded.text == "Orders\n\n3 open\n\n  A\tB"
    assert (bounded.truncated, bounded.chars_shown, bounded.chars_total) == (False, 21, 21)
    assert (bounded.lines_shown, bounded.lines_total) == (5, 5)


def test_only_lf_breaks_a_line() -> None:
    bounded = _first(_page("a\u2028b\r\nc\x85d\u202ee\x00\ud800"))
    assert bounded.text == "a\\u2028b\\r\nc\\u0085d\\u202ee\\u0000\\ud800"


def test_long_text_is_cut_and_marked() -> None:
    bounded = _first(_page("\n".join(["x" * 99] * 70)))
    body, _, marker = bounded.text.rpartition("\n")
    assert body == "\n".join(["x" * 99] * 60)
    assert marker == "[page text truncated: 5999 of 6999 characters, 60 of 70 lines shown]"


def test_total_of_a_read_that_was_cut() -> None:
    bounded = _first(_page("a\n \nb", chars_total=3_000_000))
    assert bounded.text == "a\n\nb\n[page text truncated: 4 of 3000000 characters, 3 of 3 lines shown]"
    assert bounded.truncated


def test_astral_characters_are_no_sign_of_a_cut() -> None:
    assert _first(_page("😀😀", chars_total=4)).text == "😀😀"


def test_empty() -> None:
    bounded = _first(_page(" \n\n"))
    assert (bounded.text, bounded.lines_total, bounded.truncated) == ("", 0, False)
