"""What is searched for: folded text, or a pattern of an engine that no text can make slow."""

import pytest

from formatters.errors import BadPattern
from formatters.search import RegexSearch, TextSearch, element_matches, make_search
from observe.model import SearchedElement


@pytest.mark.parametrize(
    ("wanted", "text", "holds"),
    [
        ("total  DUE", 'StaticText "Total due: 5"', True),
        ("strasse", "Straße", True),
        ('say "hi"', 'button "say \\"hi\\""', True),
        ("a\u00a0b", "a b", True),
        ("total due", "totaldue", False),
        ("\ud800", "a", False),
    ],
)
def test_text_is_found_whatever_its_case_and_white_space(wanted: str, text: str, holds: bool) -> None:
    assert TextSearch(wanted).holds(text) is holds


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        (r'^button "Save', 'button "Save all"', True),
        (r"(?i)SAVE\b", "save", True),
        (r"\d{3}-\d{2}", "it is 123-45", True),
        (r"^Save", 'button "Save"', False),
        ("x", "\ud800", False),
        (r"(a+)+$", "a" * 100_000 + "b", False),
    ],
)
def test_a_pattern_is_one_of_re2(pattern: str, text: str, holds: bool) -> None:
    assert RegexSearch(pattern).holds(text) is holds


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing ): ("),
        (r"(a)\1", r"invalid escape sequence: \\1"),
        ("(?=a)b", "invalid perl operator: (?="),
        ("(x{1,1000}){1,1000}", "invalid repetition size: {1,1000}"),
        (r"\pL{900}", "pattern too large - compile failed"),
        ("(\n", "missing ): (\\n"),
    ],
)
def test_a_bad_pattern_is_one_sentence(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern) as refused:
        make_search("regex", pattern)
    said = pattern.replace("\\", "\\\\").replace("\n", "\\n")
    assert refused.value.message == f'"{said}" is no regular expression of RE2: {why}'


@pytest.mark.parametrize(("kind", "what"), [("text", "text"), ("regex", "regular expression")])
def test_nothing_is_not_searched_for(kind: str, what: str) -> None:
    with pytest.raises(BadPattern, match=f"^the {what} to find is empty$"):
        make_search(kind, " " if kind == "text" else "")  # type: ignore[arg-type]


ELEMENT = SearchedElement(role="button", name='Delete "it"', value="V 1", row="Order 17 open")


@pytest.mark.parametrize("wanted", ["BUTTON", 'delete "it"', 'button "Delete', "v 1", "order 17", "delete \\"])
def test_an_element_is_found_by_role_name_value_and_row(wanted: str) -> None:
    assert element_matches(TextSearch(wanted), ELEMENT)
    assert not element_matches(TextSearch(wanted), SearchedElement(role="link", name="x", value=None, row=None))
