"""What a search found, as a model reads it."""

from collections.abc import Callable
from dataclasses import replace

from formatters.found import render_found
from formatters.search import RegexSearch, TextSearch
from observe.model import ActionRef, AxText, Observation

Make = Callable[..., Observation]

ORDERS = """\
- main
  - heading "Orders" [level=1]
  - list
    - listitem
      - StaticText "Order 1, open"
      - button "Delete"
    - listitem
      - StaticText "Order 2, paid"
      - button "Delete"
- StaticText "2 orders, 1 open\""""

REFS = tuple(ActionRef(ref=f"e4k2p9z_{n}", role="button", name="Delete") for n in (1, 2))


def test_lines_stand_in_those_around_them_each_told_once(observation: Make) -> None:
    made = observation(ax=AxText(source="native", text=ORDERS), refs=REFS)
    shown = render_found(made, "conservative", TextSearch("DELETE"))
    assert shown.text == (
        "URL: https://orders.test/\nTitle: Orders\n\n"
        'Searched the whole document for text "DELETE": 2 lines and 2 elements match.\n\n'
        'Action refs (2 of 2):\ne4k2p9z_1 button "Delete"\ne4k2p9z_2 button "Delete"\n\n'
        "AX text: 2 of 2 matching lines, with the lines around them.\n"
        "AX text <<4k2p9z\n"
        "- main\n  - list\n    - listitem\n"
        '      - button "Delete"\n    - listitem\n      - button "Delete"\n4k2p9z>>'
    )
    inside = shown.text.partition("AX text <<4k2p9z\n")[2].removesuffix("\n4k2p9z>>")
    assert (shown.chars, shown.chars_shown, shown.lines_shown) == (len(shown.text), len(inside), 6)
    assert (shown.chars_total, shown.lines_total, shown.truncated) == (len(ORDERS), 10, False)


def test_what_is_not_there(observation: Make) -> None:
    made = replace(observation(ax=AxText(source="native", text=ORDERS)), all_searched=False)
    shown = render_found(made, "conservative", RegexSearch("^Delete"))
    assert shown.text.partition("\n\n")[2] == (
        'Searched the whole document for regex "^Delete": 0 lines and 0 elements match.'
        " Of its elements the first 20000 were searched.\n\n"
        "Action refs (0 of 0):\n\n"
        "AX text: 0 of 0 matching lines, with the lines around them.\nAX text <<4k2p9z\n4k2p9z>>"
    )


def test_fifty_lines_are_shown_and_all_are_counted(observation: Make) -> None:
    text = "\n".join(["- list", *(f"  - item {n}" for n in range(70))])
    shown = render_found(observation(ax=AxText(source="native", text=text)), "conservative", TextSearch("item"))
    assert "AX text: 50 of 70 matching lines, with the lines around them." in shown.text
    assert (shown.lines_shown, shown.truncated) == (51, True)


def test_the_bound_of_characters_holds(observation: Make) -> None:
    text = "\n".join(f'- StaticText "{n} {"x" * 900}"' for n in range(40))
    shown = render_found(observation(ax=AxText(source="native", text=text)), "conservative", TextSearch("x"))
    assert "AX text: 13 of 40 matching lines" in shown.text
    assert 11_000 < shown.chars_shown <= 12_000


def test_of_a_long_line_the_part_with_the_match_is_shown(observation: Make) -> None:
    text = f'- StaticText "{"word " * 3_000}NEEDLE {"word " * 3_000}"'
    for search in (TextSearch("needle"), RegexSearch("N[E]+DLE")):
        shown = render_found(observation(ax=AxText(source="native", text=text)), "conservative", search)
        (line,) = [line for line in shown.text.split("\n") if "StaticText" in line]
        assert ("NEEDLE" in line, line[:20], line.count(" [cut]"), len(line) <= 1_020) == (True, text[:20], 2, True)
