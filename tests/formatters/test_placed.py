"""Refs on nodes: by the id of the element alone, each once, with a node for an element that the tree left out."""

from formatters.placed import Placed, placed
from observe.model import ActionRef, AxNode


def ref(number: int, element: int | None) -> ActionRef:
    return ActionRef(ref=f"e4k2p9z_{number}", role="button", name="same", element=element)


def told(found: list[Placed]) -> list[tuple[int, str, str | None]]:
    return [(each.depth, each.node.role, None if each.ref is None else each.ref.ref[-1]) for each in found]


def test_a_ref_stands_where_its_element_does_whatever_names_say() -> None:
    nodes = (
        AxNode(0, "button", "other", element=7),
        AxNode(0, "button", "same", element=8),
        AxNode(1, "StaticText", "same"),
    )
    assert told(list(placed(nodes, [ref(1, 8), ref(2, 7), ref(3, 9), ref(4, None)]))) == [
        (0, "button", "2"),
        (0, "button", "1"),
        (1, "StaticText", None),
    ]


def test_an_element_that_the_tree_left_out_stands_around_what_is_in_it() -> None:
    nodes = (
        AxNode(0, "main", element=1),
        AxNode(1, "StaticText", "a", around=(2, 3)),
        AxNode(1, "link", "b", element=5, around=(2, 3)),
        AxNode(2, "StaticText", "b"),
        AxNode(1, "StaticText", "c", around=(2,)),
        AxNode(1, "StaticText", "d"),
        AxNode(1, "StaticText", "e", around=(2,)),
    )
    assert told(list(placed(nodes, [ref(1, 2), ref(2, 3), ref(3, 5)]))) == [
        (0, "main", None),
        (1, "generic", "1"),
        (2, "generic", "2"),
        (3, "StaticText", None),
        (3, "link", "3"),
        (4, "StaticText", None),
        (2, "StaticText", None),
        (1, "StaticText", None),
        (1, "StaticText", None),
    ]


def test_an_element_with_several_nodes_has_its_ref_once() -> None:
    nodes = (AxNode(0, "combobox", "x", element=1), AxNode(1, "MenuListPopup", element=1), AxNode(0, "x", around=(1,)))
    assert told(list(placed(nodes, [ref(1, 1)]))) == [(0, "combobox", "1"), (1, "MenuListPopup", None), (0, "x", None)]
