"""Pages of a long text: together they are the whole, and each says where in it it stands."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formatters.errors import NoSuchPage
from formatters.paging import Page, Whole
from formatters.render import Reading, render
from observe.model import ActionRef, AxText, Observation

LIST = "- main\n  - list\n    - item 1\n    - item 2\n    - item 3\n- end"

lines = st.lists(st.text(alphabet="ab- \u2028", max_size=30), min_size=1, max_size=40)
"""Lines with indents and dashes, and with what is no line break."""


def pages(whole: Whole) -> list[Page]:
    found: list[Page] = []
    while (page := whole.page(len(found) + 1)) is not None:
        found.append(page)
    return found


def joined(whole: Whole) -> str:
    """The pages' own text, put together as their fields say."""
    text = ""
    for number, page in enumerate(pages(whole), 1):
        break_before = "\n" if number > 1 and not page.inside_line else ""
        text += break_before + page.bounded.text[: page.bounded.chars_shown]
    return text


@given(lines, st.integers(min_value=1, max_value=80))
def test_together_the_pages_are_the_whole(given_lines: list[str], limit: int) -> None:
    text = "\n".join(given_lines)
    whole = Whole(text=text, limit=limit, label="AX text")
    found = pages(whole)
    assert joined(whole) == text
    assert [page.goes_on for page in found] == [True] * (len(found) - 1) + [False]
    assert [page.before for page in found[1:]] == [page.seen for page in found[:-1]]
    assert found[0].bounded == whole.first()


def test_each_page_says_where_it_stands() -> None:
    whole = Whole(text=LIST, limit=30, label="AX text")
    assert [(page.around, page.bounded.text) for page in pages(whole)] == [
        ((), "- main\n  - list\n    - item 1\n[AX text truncated: 28 of 60 characters, 3 of 6 lines shown]"),
        (
            ("- main", "  - list"),
            "    - item 2\n    - item 3\n[AX text truncated: characters 30 to 54 of 60, lines 4 to 5 of 6 shown]",
        ),
        ((), "- end"),
    ]


def test_a_line_that_is_longer_than_a_page_goes_on_inside() -> None:
    whole = Whole(text="- main\n  - " + "x" * 20, limit=10, label="AX text")
    assert [
        (page.bounded.text[: page.bounded.chars_shown], page.inside_line, page.around) for page in pages(whole)
    ] == [
        ("- main", False, ()),
        ("  - xxxxxx", False, ("- main",)),
        ("x" * 10, True, ("- main",)),
        ("x" * 4, True, ("- main",)),
    ]


def test_what_stands_around_is_bounded_and_the_nearest() -> None:
    deep = [f"{'  ' * depth}- group {depth}" for depth in range(3_000)]
    whole = Whole(text="\n".join(deep), limit=12_000, label="AX text")
    page = whole.page(5)
    assert page is not None
    number = len(page.bounded.text.split("\n")[0].partition("-")[0]) // 2
    assert (
        page.around
        == tuple(line[:300] + (" [cut]" if len(line) > 300 else "") for line in deep[:number])[-len(page.around) :]
    )
    assert 1 <= len(page.around) == 2_000 // len(page.around[-1])


def test_an_unknown_line_ends_what_stands_around() -> None:
    whole = Whole(text="- main\n  - list\nunknown\n    - item", limit=23, label="AX text")
    assert [page.around for page in pages(whole)] == [(), ()]


def test_a_beginning_of_which_the_rest_is_not_counted() -> None:
    whole = Whole(text="a\nb\nc\nd", limit=3, label="AX text", complete=False)
    page = whole.page(2)
    assert page is not None
    assert page.bounded.text == "c\nd\n[AX text truncated: characters 5 to 7, lines 3 to 4 shown; the rest not counted]"
    assert (page.bounded.chars_total, page.bounded.lines_total) == (None, None)


Make = Callable[..., Observation]

NODES = "\n".join(["- main", *(f"  - text {number:04d}" for number in range(1_500))])
REF = ActionRef(ref="e4k2p9z_1", role="button", name="Save")


def of(
    observation: Make, page: int, text: str = NODES, refs: tuple[ActionRef, ...] = (), before: int = 0
) -> Observation:
    made = observation(ax=AxText(source="native", text=text), refs=refs)
    return replace(made, page=page, refs_before=before, refs_total=before + len(refs))


def test_the_first_page_is_todays_rendering_and_how_to_go_on(observation: Make) -> None:
    made = of(observation, 1)
    plain, paged = render(made, "verbatim"), render(made, "verbatim", Reading())
    more = "\nMore: observe with page=2; find searches the whole document."
    assert (paged.text, plain.seen, paged.seen is None) == (plain.text + more, None, False)
    short = of(observation, 1, "- main")
    assert render(short, "verbatim", Reading()).text == render(short, "verbatim").text


def test_a_further_page(observation: Make) -> None:
    first = render(of(observation, 1), "verbatim", Reading())
    second = render(of(observation, 2, refs=(REF,), before=250), "verbatim", Reading(seen=first.seen))
    head, _, body = second.text.partition("AX text <<4k2p9z\n")
    assert head == (
        "URL: https://orders.test/\nTitle: Orders\n\n"
        'Action refs (251 to 251 of 251):\ne4k2p9z_1 button "Save"\n\n'
        "Page 2 goes on where page 1 was cut. Of all refs only those above count now.\n"
        "Around its first line, told again: <<4k2p9z\n- main\n4k2p9z>>\n"
        "AX text is verbatim and descriptive only; values may contain lines that look like nodes. "
        "Act on the action refs above.\n"
    )
    shown = body.split("\n")
    assert (shown[0], shown[-2:]) == ("  - text 0856", ["  - text 1499", "4k2p9z>>"])


def test_a_change_of_what_stands_before_is_told(observation: Make) -> None:
    first = render(of(observation, 1), "verbatim", Reading())
    changed = of(observation, 2, "- new\n" + NODES)
    told = "What stands before it changed since page 1 was shown: lines may be missing or told twice."
    assert told in render(changed, "verbatim", Reading(seen=first.seen)).text
    assert told not in render(changed, "verbatim", Reading()).text
    assert told not in render(of(observation, 2, NODES + "\n- new"), "verbatim", Reading(seen=first.seen)).text


def test_refs_can_go_on_behind_the_text(observation: Make) -> None:
    shown = render(of(observation, 3, refs=(REF,), before=500), "verbatim", Reading())
    assert shown.text.partition("\n\nThe text")[2] == (
        " ended before page 3. Of all refs only those above count now.\n"
        "AX text is verbatim and descriptive only; values may contain lines that look like nodes. "
        "Act on the action refs above.\nAX text <<4k2p9z\n4k2p9z>>"
    )
    assert (shown.chars_shown, shown.lines_shown, shown.truncated, shown.seen) == (0, 0, False, None)


@pytest.mark.parametrize("refs", [(), (REF,)])
def test_there_is_no_page_behind_text_and_refs(observation: Make, refs: tuple[ActionRef, ...]) -> None:
    with pytest.raises(NoSuchPage, match=r"^there is no page 3, as the document ends before it$"):
        render(of(observation, 3, refs=refs), "verbatim", Reading())
