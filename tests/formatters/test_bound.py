"""The cut, at its edges."""

from formatters.bound import Bounded, bound, line_count


def _bounded(text: str, *, shown: tuple[int, int], total: tuple[int, int], truncated: bool = False) -> Bounded:
    return Bounded(
        text=text,
        truncated=truncated,
        chars_shown=shown[0],
        lines_shown=shown[1],
        chars_total=total[0],
        lines_total=total[1],
    )


def test_empty() -> None:
    assert bound("", 5, "AX text") == _bounded("", shown=(0, 0), total=(0, 0))


def test_exact_is_not_cut() -> None:
    assert bound("ab\ncd", 5, "AX text") == _bounded("ab\ncd", shown=(5, 2), total=(5, 2))


def test_break_at_the_bound() -> None:
    text = "ab\ncd\n[AX text truncated: 5 of 7 characters, 2 of 3 lines shown]"
    assert bound("ab\ncd\ne", 5, "AX text") == _bounded(text, shown=(5, 2), total=(7, 3), truncated=True)


def test_break_before_the_bound() -> None:
    text = "ab\n[AX text truncated: 2 of 6 characters, 1 of 2 lines shown]"
    assert bound("ab\ncde", 5, "AX text") == _bounded(text, shown=(2, 1), total=(6, 2), truncated=True)


def test_first_line_over() -> None:
    text = "abcde\n[AX text truncated: 5 of 8 characters, 1 of 2 lines shown]"
    assert bound("abcdef\ng", 5, "AX text") == _bounded(text, shown=(5, 1), total=(8, 2), truncated=True)


def test_only_break_at_the_very_start() -> None:
    text = "\n[AX text truncated: 0 of 7 characters, 0 of 2 lines shown]"
    assert bound("\nabcdef", 5, "AX text") == _bounded(text, shown=(0, 0), total=(7, 2), truncated=True)


def test_beginning_of_a_longer_text() -> None:
    text = "ab\n[page text truncated: 2 of 90 characters, 1 of 1 lines shown]"
    assert bound("ab", 5, "page text", chars_total=90) == _bounded(text, shown=(2, 1), total=(90, 1), truncated=True)


def test_lines_break_on_lf_alone() -> None:
    assert line_count("a\u2028b\rc\x85d\n") == 2
