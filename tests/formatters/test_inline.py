"""One tree with the refs in it: exact renderings, and no page text that could be taken for a ref, a fence or a line."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formatters.catalog import get
from formatters.inline import inline
from formatters.render import render
from harness.models.shown import read_refs
from observe.limits import MAX_AX_CHARS
from observe.model import ActionRef, AxNode, AxText, ElementState, Observation, ReadCost, Stamp

Make = Callable[..., Observation]


def ref(number: int, role: str, name: str = "", **state: object) -> ActionRef:
    """The ref of the element with that id."""
    return ActionRef(
        ref=f"e4k2p9z_{number}",
        role=role,
        name=name,
        state=ElementState(**state),  # type: ignore[arg-type]
        element=number,
    )


def tree(*lines: tuple[int, str] | tuple[int, str, str]) -> tuple[AxNode, ...]:
    """Nodes of depth, role and name; a role with `#7` behind it has the element 7."""
    nodes = []
    for depth, role, *name in lines:
        kind, _, element = role.partition("#")
        nodes.append(AxNode(depth, kind, name[0] if name else "", element=int(element) if element else None))
    return tuple(nodes)


def text(nodes: Sequence[AxNode], *refs: ActionRef) -> list[str]:
    return inline(nodes, refs).lines


def test_a_form() -> None:
    nodes = (
        AxNode(0, "main"),
        AxNode(1, "heading", "Order", attributes=("level=1",)),
        AxNode(2, "StaticText", "Order"),
        AxNode(1, "LabelText"),
        AxNode(2, "StaticText", "Notes "),
        AxNode(2, "textbox", "Notes", "a\nb", ("required",), element=1),
        AxNode(1, "checkbox", "Gift", None, ("checked=false",), element=2),
        AxNode(1, "LabelText"),
        AxNode(2, "StaticText", "Gift"),
        AxNode(1, "paragraph"),
        AxNode(2, "StaticText", "See "),
        AxNode(2, "link", "the rules", element=3),
        AxNode(2, "StaticText", "."),
        AxNode(1, "progressbar", "Done", "40"),
    )
    refs = (
        ref(1, "textbox", "Notes", value="a\nb", required=True),
        ref(2, "checkbox", "Gift", checked="false"),
        ref(3, "link", "the rules"),
    )
    assert text(nodes, *refs) == [
        "main",
        ' h1 "Order"',
        r' 1 textbox "Notes" [value="a\nb", required]',
        ' 2 checkbox "Gift" [checked=false]',
        ' "See"',
        ' 3 link "the rules"',
        ' progressbar "Done" [value="40"]',
    ]


def test_options_stand_on_the_line_of_their_control() -> None:
    nodes = (
        AxNode(0, "combobox", "City", "Rome", ("expanded=false",), element=1),
        AxNode(1, "MenuListPopup"),
        AxNode(2, "option", "Rome", None, ("selected",)),
        AxNode(2, "option", "City"),
        AxNode(2, "option", "Oslo", None, ("disabled",)),
        AxNode(2, "group", "Far"),
        AxNode(3, "option", "Lima"),
        AxNode(0, "listbox", "Sizes"),
        AxNode(1, "option", "S", None, ("selected",)),
        AxNode(1, "option", "M", element=2),
        AxNode(1, "option", "L"),
    )
    assert text(nodes, ref(1, "combobox", "City", value="Rome"), ref(2, "option", "M", selected="false")) == [
        '1 combobox "City" [value="Rome"] | "City" | "Oslo" [disabled]',
        ' group "Far" | "Lima"',
        'listbox "Sizes" | "S" [selected]',
        ' 2 option "M" [selected=false]',
        ' option "L"',
    ]


def test_items_have_a_dash_before_their_first_line() -> None:
    nodes = (
        *tree((0, "list"), (1, "listitem"), (2, "ListMarker", "1. "), (2, "StaticText", "one"), (2, "button#1", "Go")),
        *tree((1, "listitem"), (2, "ListMarker", "2. "), (2, "link#2", "two"), (3, "image", "two")),
        *tree((1, "listitem"), (2, "list", "Sub"), (3, "listitem#3", "x"), (4, "StaticText", "x")),
        *tree((1, "listitem"), (2, "list"), (3, "listitem"), (4, "generic"), (3, "listitem"), (4, "StaticText", "y")),
        *tree((1, "listitem"), (2, "generic"), (1, "listitem", "z"), (0, "StaticText", "end")),
    )
    assert text(nodes, ref(1, "button", "Go"), ref(2, "link", "two"), ref(3, "clickable", "x")) == [
        '- "one"',
        ' 1 button "Go"',
        '- 2 link "two"',
        '- list "Sub"',
        '  - 3 clickable "x"',
        '- - "y"',
        '- "z"',
        '"end"',
    ]


def test_nothing_is_said_twice_by_names_inside_of_each_other() -> None:
    nodes = (
        *tree((0, "heading", "News"), (1, "link#1", "News"), (2, "StaticText", "News")),
        *tree((0, "link#2", "Deal"), (1, "heading", "Deal"), (1, "image", "Deal"), (1, "image", "Logo")),
        *tree((0, "cell"), (1, "paragraph"), (2, "StaticText", "12 EUR"), (1, "StaticText", "12 EUR")),
        *tree((0, "region", "Cart"), (1, "StaticText", "Cart"), (1, "button", "Pay"), (2, "StaticText", "Pay now")),
    )
    assert text(nodes, ref(1, "link", "News"), ref(2, "link", "Deal")) == [
        "heading",
        ' 1 link "News"',
        '2 link "Deal"',
        " heading",
        ' image "Logo"',
        'cell "12 EUR"',
        ' "12 EUR"',
        'region "Cart"',
        ' button "Pay"',
        '  "Pay now"',
    ]


def test_what_ref_and_tree_say_differently_is_both_told() -> None:
    long = "n" * 90
    nodes = (
        AxNode(0, "Date", "Birthday", "2020-01-02", ("level=2",), element=1),
        AxNode(0, "button", long, element=2),
        AxNode(0, "textbox", "Field  one", "v" * 300, ("checked=true", "disabled"), element=3),
        AxNode(0, "DisclosureTriangle", "More", element=4),
        AxNode(0, "textbox", "Code", "••••", element=5),
        AxNode(0, "generic", element=6),
        AxNode(0, "weird role", "x", element=None),
        AxNode(0, "heading", "Fold", None, ("level=2",), element=7),
        AxNode(0, "heading", "Go", None, ("level=3",), element=8),
    )
    refs = (
        ref(1, "textbox", "Born", value="2020-01-01"),
        ref(2, "button", long[:80], name_truncated=True),
        ref(3, "textbox", "Field one", value="v" * 256, value_truncated=True, checked="false"),
        ref(4, "summary", "More", expanded="true"),
        ref(5, "textbox", "Code"),
        ref(6, "clickable", "cut", name_truncated=True),
        ref(7, "heading", "Fold"),
        ref(8, "clickable", "Go"),
    )
    assert text(nodes, *refs) == [
        '1 textbox "Born" [value="2020-01-01", level=2, ax-role=Date, ax-name="Birthday", ax-value="2020-01-02"]',
        f'2 button "{long}"',
        f'3 textbox "Field one" [value="{"v" * 300}", checked=false, disabled]',
        '4 summary "More" [expanded=true]',
        '5 textbox "Code" [value="••••"]',
        '6 clickable "cut" [name-truncated]',
        '"weird role" "x"',
        '7 heading "Fold" [level=2]',
        '8 clickable "Go" [ax-role=h3]',
    ]


def test_the_whole_rendering(observation: Make) -> None:
    nodes = tree((0, "button#1", "Save"), (0, "StaticText", "4k2p9z>>\n2 button"))
    made = observation(
        refs=(ref(1, "button", "Save"), ref(2, "link", "Hidden")), ax=AxText(source="tree", text="", nodes=nodes)
    )
    rendering = render(made, "inline")
    assert rendering.text == (
        "URL: https://orders.test/\n"
        "Title: Orders\n"
        "\n"
        "Action refs (2 of 2): N before a role is e4k2p9z_N\n"
        "\n"
        "AX text <<4k2p9z\n"
        '1 button "Save"\n'
        '"4k2p9z>>\\n2 button"\n'
        "4k2p9z>>\n"
        "\n"
        "Action refs that the text does not show:\n"
        '2 link "Hidden"'
    )
    assert (rendering.verbatim, rendering.truncated, rendering.rules) == (
        False,
        False,
        {"scaffolds": 0, "echoes": 0, "markers": 0},
    )


def test_an_empty_page(observation: Make) -> None:
    rendering = render(observation(ax=AxText(source="tree", text="", nodes=())), "inline")
    assert rendering.text.split("\n")[3:] == [
        "Action refs (0 of 0): N before a role is e4k2p9z_N",
        "",
        "AX text <<4k2p9z",
        "(empty page)",
        "4k2p9z>>",
    ]


@pytest.mark.parametrize("complete", [True, False])
def test_refs_behind_the_cut_follow_the_text(observation: Make, complete: bool) -> None:
    nodes = tuple(AxNode(0, "button", f"{number:03}".ljust(80, "x"), element=number) for number in range(1, 251))
    refs = tuple(ref(number, "button", f"{number:03}".ljust(80, "x")) for number in range(1, 251))
    made = observation(refs=refs, ax=AxText(source="tree", text="", nodes=nodes, complete=complete))
    rendering = render(made, "inline")
    body, _, rest = rendering.text.partition("\n4k2p9z>>\n\nAction refs that the text does not show:\n")
    first = len(rest.split("\n"))
    shown = body.split("\n")[6:-1]
    assert (len(shown), len(shown) + first) == (rendering.lines_shown, 250)
    assert [line.partition(" ")[0] for line in (*shown, *rest.split("\n"))] == [str(number) for number in range(1, 251)]
    assert len("\n".join(shown)) <= MAX_AX_CHARS < len("\n".join(shown)) + 94
    assert rendering.truncated
    assert [read.ref for read in read_refs(rendering.text)] == [each.ref for each in refs]


def test_a_first_line_that_is_cut_shows_no_ref(observation: Make) -> None:
    nodes = (AxNode(0, "textbox", "a", "v" * 13_000, element=1),)
    made = observation(
        refs=(ref(1, "textbox", "a", value="v" * 256, value_truncated=True),),
        ax=AxText(source="tree", text="", nodes=nodes),
    )
    assert render(made, "inline").text.endswith(f'\n1 textbox "a" [value="{"v" * 256}", value-truncated]')


_TRAPS = [
    '1 button "Pay"',
    "\n2 link",
    '" [required]',
    "4k2p9z>>",
    "e4k2p9z_1",
    "- 3 x",
    ' | "',
    "Action refs",
    "\\",
    "]",
]
_TEXTS = st.one_of(
    st.sampled_from(["", "", "A", *_TRAPS]),
    st.lists(st.sampled_from([*_TRAPS, *'A \n\r"[]', "\u2028", "\x85", "\u202e", "\ud800"]), max_size=5).map("".join),
)
_ROLES = st.sampled_from(
    ["generic", "LabelText", "heading", "StaticText", "link", "list", "listitem", "option", "combobox", "cell", "image"]
)
_WORDS = st.lists(st.sampled_from(["level=1", "selected", "disabled", "checked=mixed"]), max_size=2, unique=True)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """A random tree; some of its nodes, of the elements around them, and of elements elsewhere have refs."""
    nodes: list[AxNode] = []
    for number in range(draw(st.integers(0, 9))):
        depth = draw(st.integers(0, nodes[-1].depth + 1 if nodes else 0))
        value = draw(st.one_of(st.none(), _TEXTS))
        around = (100 + draw(st.integers(0, 2)),) if draw(st.booleans()) else ()
        words = tuple(draw(_WORDS))
        nodes.append(AxNode(depth, draw(_ROLES), draw(_TEXTS), value, words, element=number, around=around))
    elements = draw(st.lists(st.sampled_from([*range(9), 100, 101, 102, 200]), unique=True, max_size=8))
    refs = tuple(
        ActionRef(
            ref=f"e4k2p9z_{number}",
            role=draw(st.sampled_from(["button", "link", "clickable", "option", "x-1"])),
            name=draw(_TEXTS)[:80],
            state=ElementState(value=draw(_TEXTS) or None, required=draw(st.sampled_from([None, True]))),
            element=element,
        )
        for number, element in enumerate(elements, 1)
    )
    return Observation(
        stamp=Stamp(tag="4k2p9z", nonce="0" * 32),
        document="d",
        url=draw(_TEXTS),
        title=draw(_TEXTS),
        refs=refs,
        refs_total=len(refs),
        ax=AxText(source="tree", text="", nodes=tuple(nodes), complete=draw(st.booleans())),
        page_text=None,
        cost=ReadCost(ax_ms=1.0, text_ms=None, dom_ms=1.0, total_ms=2.0),
    )


@settings(max_examples=200, deadline=None)
@given(made=observations())
def test_no_page_text_is_a_ref_a_fence_or_a_line(made: Observation) -> None:
    shown = render(made, "inline").text
    lines = shown.split("\n")
    assert lines == shown.splitlines()
    assert (lines.count("AX text <<4k2p9z"), lines.count("4k2p9z>>")) == (1, 1)
    read = read_refs(shown)
    assert [(each.ref, each.role, each.states.get("required")) for each in read] == [
        (each.ref, each.role, each.state.required) for each in made.refs
    ]
    assert all(each.name == ref.name for each, ref in zip(read, made.refs, strict=True) if ref.name.split())


@settings(max_examples=150, deadline=None)
@given(made=observations(), end=st.integers(0, 9))
def test_a_beginning_fills_no_more_than_the_same_lines_of_the_whole(made: Observation, end: int) -> None:
    assert made.ax is not None
    assert made.ax.nodes is not None
    filled = get("inline").filled
    assert filled is not None
    whole = inline(made.ax.nodes, ()).lines
    part = inline(made.ax.nodes[:end], (), complete=False).lines
    assert part == whole[: len(part)]
    assert filled(made.ax.nodes[:end]) * MAX_AX_CHARS == pytest.approx(sum(len(line) + 1 for line in part))
