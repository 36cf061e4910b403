"""Action refs on the nodes of the tree that they belong to, by the id of the element; never by name or order."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from observe.model import ActionRef, AxNode


class Placed(NamedTuple):
    """A node with the ref of its element. Its depth counts the elements that got a node for the sake of their ref."""

    depth: int
    node: AxNode
    ref: ActionRef | None


_Open = tuple[int, int | None]
"""Depth of a node that others may stand below; and the element that it stands for, where the tree has left that out."""


def placed(nodes: Sequence[AxNode], refs: Sequence[ActionRef]) -> Iterator[Placed]:
    """The nodes in their order, each ref at most once.

    An element with a ref that is no node of its own gets one, of the role `generic`, around the nodes that stand in it.
    """
    waiting: dict[int | None, ActionRef] = {ref.element: ref for ref in refs if ref.element is not None}
    around: list[_Open] = []
    for node in nodes:
        while around and around[-1][0] >= node.depth and not _stands_around(around[-1], node):
            around.pop()
        for element in node.around:
            if (ref := waiting.pop(element, None)) is not None:
                yield Placed(len(around), AxNode(node.depth, "generic"), ref)
                around.append((node.depth, element))
        yield Placed(len(around), node, waiting.pop(node.element, None))
        around.append((node.depth, None))


def _stands_around(outer: _Open, node: AxNode) -> bool:
    """An element that was left out has the depth of the nodes in it."""
    return outer[0] == node.depth and outer[1] in node.around
