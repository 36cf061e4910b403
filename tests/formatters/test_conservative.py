"""The compaction: its rules one by one, against a slow reading of the contract, and on lines meant to make it slow."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formatters.conservative import compact, is_ref

Plainly = Callable[[str], tuple[str, bool, dict[str, int]]]

_INDENTS = st.sampled_from(["", "", " ", "  ", "  ", "   ", "    ", "      ", "\t"])
_ROLES = st.sampled_from(
    ["generic", "heading", "heading", "StaticText", "StaticText", "LabelText", "paragraph", "link", "a-b_9", "9x", ""]
)
_GOOD_NAMES = ["", "", ' "A"', ' "A"', ' "B"', ' ""', ' "a\\"b"', ' "\\u00e9"', ' "\\\\"', ' "\u2028"', ' "\\ud800"']
_ODD_NAMES = [' "\\x"', ' "\\u12"', ' "open', ' "\t"', '"A"', ' "[ref=e1]: "', ' "A\r"', '  "A"', ' "\\\\\\"']
_NAMES = st.sampled_from(_GOOD_NAMES + _ODD_NAMES)
_GOOD_TAILS = ["", "", "", " [ref=e1]", " [ref=e1]", " [level=1, ref=e2]", " [level=1]", " clickable [cursor:pointer]"]
_ODD_LISTS = [
    " [ref=e1",
    "[ref=e1]",
    " [ref=e٣]",
    " [ref=e]",
    " [, ref=e1]",
    " [ref=e1,]",
    " [xref=e1]",
    " [ref=e1 ]",
    " []",
]
_ODD_TAILS = [" ", "\r", " [a: b]", " [ref=e1, level=1] ", " [ref=e1] [ref=e2]", " [level=1] [x]", " [ref=e1] [x]"]
_TWICE = [" [ref=e1, ref=e22]", " [ref=e1, ref=e2] [x]", " [ref=e1, x, ref=e2]"]
_REF_FIRST = [
    " [ref=e1, url=a]",
    " [ref=e1, a, b]x",
    " [ref=e1, a,b]",
    ' [ref=e1, "]',
    " [ref=e1, a",
    " [ref=e1, x: y]",
]
_NEAR_LISTS = [
    ", ref=e1]",
    " ref=e1]",
    " [ref=e1], a]",
    " [ref=e1],",
    " [a, ref=e1], b]",
    " [a] ref=e1]",
    " [a, ref=e1",
]
_NEAR_ENTRIES = [" [a,b]", " [a,b, ref=e1]", ' ["q"]', " [a, ]", " [a, ref=ex]", " [a, b, ref=e1] [x, ref=e2]", " [a,]"]
_TAILS = st.sampled_from(_GOOD_TAILS + _ODD_LISTS + _ODD_TAILS + _TWICE + _REF_FIRST + _NEAR_LISTS + _NEAR_ENTRIES)
_VALUES = st.sampled_from(
    ["", "", "", "", "", "", "", "", "", "", "", "", ": v", ":", ": ", ":x", " focusable [tabindex]:"]
)
_NODES = st.builds("{}- {}{}{}{}".format, _INDENTS, _ROLES, _NAMES, _TAILS, st.just(""))
_WITH_VALUES = st.builds("{}- {}{}{}{}".format, _INDENTS, _ROLES, _NAMES, _TAILS, _VALUES)
_OTHER = st.one_of(
    st.sampled_from(["", " ", "???", "- ", "-", "(empty page)", "\u2028", "  -  link", "\r"]),
    st.text(alphabet='- "[]\\:,ref=e1Aa \t\r\u2028\x85', max_size=14),
)
_TEXTS = st.one_of(
    st.lists(st.one_of(_NODES, _NODES, _NODES, _NODES, _OTHER), max_size=12),
    st.lists(st.one_of(_WITH_VALUES, _OTHER), max_size=6),
).map("\n".join)


@settings(max_examples=600, deadline=None)
@given(text=_TEXTS)
def test_agrees_with_the_slow_reading(text: str, plainly: Plainly) -> None:
    compacted = compact(text)
    assert (compacted.text, compacted.verbatim, compacted.rules) == plainly(text)


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(_NODES, min_size=1, max_size=4), copies=st.integers(min_value=1, max_value=3))
def test_agrees_where_a_text_is_read_in_parts(lines: list[str], copies: int, plainly: Plainly) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("formatters.native._BATCH_CHARS", 7)
        text = "\n".join(lines * copies)
        compacted = compact(text)
    assert (compacted.text, compacted.verbatim, compacted.rules) == plainly(text)


def test_every_rule_is_counted() -> None:
    text = '- generic [ref=e1]\n  - heading "A" [ref=e2, level=1, ref=e3]\n    - StaticText "A" [ref=e4]\n- paragraph'
    compacted = compact(text)
    assert compacted.text == '- heading "A" [level=1]'
    assert not compacted.verbatim
    assert compacted.rules == {"refs": 4, "scaffolds": 2, "heading_echo": 1}


def test_scaffold_with_several_refs_moves_its_children_up() -> None:
    compacted = compact('- generic [ref=e1, ref=e2]\n  - link "A" [ref=e3, url=x]')
    assert compacted.text == '- link "A" [url=x]'
    assert compacted.rules == {"refs": 3, "scaffolds": 1, "heading_echo": 0}


def test_echo_with_a_child_comes_back() -> None:
    text = '- heading "A" [level=1, ref=e1]\n  - StaticText "A"\n    - link\n  - StaticText "A"'
    compacted = compact(text)
    assert compacted.text == '- heading "A" [level=1]\n  - StaticText "A"\n    - link'
    assert compacted.rules == {"refs": 1, "scaffolds": 0, "heading_echo": 1}


def test_verbatim_counts_no_rule() -> None:
    text = "- generic [ref=e1]\n- textbox: x"
    compacted = compact(text)
    assert (compacted.text, compacted.verbatim) == (text, True)
    assert compacted.rules == {"refs": 0, "scaffolds": 0, "heading_echo": 0}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("ref=e1", True),
        ("ref=e007", True),
        ("ref=e", False),
        ("ref=e1 ", False),
        ("ref=e٣", False),
        ("ref=e²", False),
        ("ref=f1", False),
        ("", False),
    ],
)
def test_is_ref(entry: str, expected: bool) -> None:
    assert is_ref(entry) is expected


_SIZE = 600_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('- a "' + "\\" * _SIZE, id="backslashes"),
        pytest.param('- a "' + "\\\\" * (_SIZE // 2) + "x", id="escapes without end"),
        pytest.param('- a "' + "\\u0041" * (_SIZE // 6) + "\\u00", id="hex escapes without end"),
        pytest.param("- a [" + "[" * _SIZE, id="brackets"),
        pytest.param("- a [" + ", " * (_SIZE // 2), id="separators without end"),
        pytest.param("- a [a" + ", a" * (_SIZE // 3), id="entries without end"),
        pytest.param("- a [ref=e1, a" + ", a" * (_SIZE // 3), id="entries behind a ref without end"),
        pytest.param("- a [a" + ", a" * (_SIZE // 3) + ", ref=e" + "1" * _SIZE, id="ref without end"),
        pytest.param("- generic [ref=e" + "1" * _SIZE, id="ref of a scaffold without end"),
        pytest.param('- a "' + '"' * _SIZE, id="quotes"),
        pytest.param(" " * _SIZE, id="blanks"),
        pytest.param("- " * (_SIZE // 2), id="dashes"),
        pytest.param("- " + "a" * _SIZE, id="one role"),
        pytest.param("- a" + ":" * _SIZE + "x", id="colons"),
    ],
)
def test_hostile_line_stays(text: str) -> None:
    assert compact(text).text == text


def test_list_of_refs_alone_goes() -> None:
    compacted = compact("- link [" + "ref=e1, " * (_SIZE // 8) + "ref=e2]")
    assert compacted.text == "- link"
    assert compacted.rules["refs"] == _SIZE // 8 + 1


def test_deep_tree_of_scaffolds_moves_up() -> None:
    text = "\n".join(" " * depth + "- generic" for depth in range(1_000)) + "\n" + " " * 1_000 + '- link "x"'
    compacted = compact(text)
    assert compacted.text == '- link "x"'
    assert compacted.rules["scaffolds"] == 1_000


def test_wide_steps_in_and_out() -> None:
    text = "\n".join(["- list", " " * 3_000 + "- link"] * 200)
    assert compact(text).text == "\n".join(["- list", "  - link"] * 200)


def test_blank_lines_alone() -> None:
    assert compact("\n" * 100_000).text == "\n" * 100_000
