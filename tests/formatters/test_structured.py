"""The compaction of the tree: same result as on native text, and one line a node whatever a page says."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from formatters import conservative, structured
from formatters.escape import json_string
from observe.model import AxNode

_ROLES = st.sampled_from(["generic", "paragraph", "LabelText", "heading", "StaticText", "link", "list"])
_PLAIN_NAMES = st.one_of(
    st.sampled_from(["", "", "A", "A", "B", 'say "x"', "back\\", "a\nb", ": ", "[ref=e1]", "\x00"]),
    st.text(alphabet='Aé😀"\\[]:, \n\x7f', max_size=5),
)
_ANY_NAMES = st.one_of(_PLAIN_NAMES, st.text(alphabet="A\x85\u2028\u2029\u202e\u200f\u061c\u2066\ud800\r", max_size=5))
_ATTRIBUTES = st.lists(st.sampled_from(["level=1", "disabled", "checked=mixed", "ref=e1"]), max_size=2).map(tuple)


def _tree(steps: Sequence[tuple[int, str, str, str | None, tuple[str, ...]]]) -> tuple[AxNode, ...]:
    """A tree in which each node is at most one deeper than the one before."""
    nodes: list[AxNode] = []
    for climb, role, name, value, attributes in steps:
        depth = max(0, nodes[-1].depth + 1 - climb) if nodes else 0
        nodes.append(AxNode(depth=depth, role=role, name=name, value=value, attributes=attributes))
    return tuple(nodes)


_STEPS = st.integers(min_value=0, max_value=3)
_TREES = st.lists(st.tuples(_STEPS, _ROLES, _PLAIN_NAMES, st.none(), _ATTRIBUTES), max_size=14).map(_tree)
_HOSTILE = st.lists(
    st.tuples(_STEPS, _ROLES, _ANY_NAMES, st.one_of(st.none(), _ANY_NAMES), _ATTRIBUTES),
    min_size=1,
    max_size=8,
).map(_tree)


def _native(nodes: tuple[AxNode, ...]) -> str:
    """Native text of a tree without values."""
    lines = []
    for node in nodes:
        name = f" {json_string(node.name)}" if node.name else ""
        attributes = f" [{', '.join(node.attributes)}]" if node.attributes else ""
        lines.append("  " * node.depth + "- " + node.role + name + attributes)
    return "\n".join(lines) if lines else "(empty page)"


@settings(max_examples=400, deadline=None)
@given(nodes=_TREES)
def test_equals_conservative_where_there_is_no_value(nodes: tuple[AxNode, ...]) -> None:
    assert structured.compact(nodes) == conservative.compact(_native(nodes))


@settings(max_examples=200, deadline=None)
@given(nodes=_HOSTILE)
def test_a_node_is_one_line(nodes: tuple[AxNode, ...]) -> None:
    compacted = structured.compact(nodes)
    removed = compacted.rules["scaffolds"] + compacted.rules["heading_echo"]
    assert len(compacted.text.splitlines()) == len(nodes) - removed
    assert compacted.text.encode("utf-8").decode("utf-8") == compacted.text
    assert not compacted.verbatim


def test_values_are_strings() -> None:
    nodes = (
        AxNode(depth=0, role="generic", value="v"),
        AxNode(depth=1, role="textbox", name="Notes", value='a\n- button "x": \u2028\u202e', attributes=("required",)),
        AxNode(depth=1, role="heading", name="A", value="v"),
        AxNode(depth=2, role="StaticText", name="A"),
        AxNode(depth=1, role="textbox", value=""),
    )
    assert structured.compact(nodes).text.split("\n") == [
        '- generic: "v"',
        '  - textbox "Notes" [required]: "a\\n- button \\"x\\": \\u2028\\u202e"',
        '  - heading "A": "v"',
        '    - StaticText "A"',
        '  - textbox: ""',
    ]


def test_roles_and_attributes_stay_on_their_line() -> None:
    nodes = (AxNode(depth=0, role="x\ny", attributes=("url=a\u2028b",)),)
    assert structured.compact(nodes).text == "- x\\ny [url=a\\u2028b]"


def test_empty_tree() -> None:
    compacted = structured.compact(())
    assert (compacted.text, compacted.rules) == ("(empty page)", {"refs": 0, "scaffolds": 0, "heading_echo": 0})


def test_deep_tree_needs_no_recursion() -> None:
    nodes = tuple(AxNode(depth=depth, role="generic") for depth in range(5_000))
    assert structured.compact((*nodes, AxNode(depth=5_000, role="link", name="x"))).text == '- link "x"'
