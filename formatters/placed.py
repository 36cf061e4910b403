"""Action refs on the nodes of the tree that they belong to, by the id of the element; never by name or order."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from observe.model import ActionRef, AxNode


class Placed(NamedTuple):
    """A node with the ref of its element. Its depth counts the elements that got a node for the sake of their ref."""

    depth: int
    node: AxNode
    ref: ActionRef | None


class _Open(NamedTuple):
    """A node that others may stand below. `element`: it stands for that element, which the tree has left out."""

    depth: int
    element: int | None


def placed(nodes: Sequence[AxNode], refs: Sequence[ActionRef]) -> Iterator[Placed]:
    """The nodes in their order, each ref at most once.

    An element with a ref that is no node of its own gets one, of the role `generic`, around the nodes that stand in it.
    """
    waiting: dict[int | None, ActionRef] = {ref.element: ref for ref in refs if ref.element is not None}
    around: list[_Open] = []
    for node in nodes:
        while around and not _holds(around[-1], node):
            around.pop()
        for element in node.around:
            if (ref := waiting.pop(element, None)) is not None:
                yield Placed(len(around), AxNode(node.depth, "generic"), ref)
                around.append(_Open(node.depth, element))
        yield Placed(len(around), node, waiting.pop(node.element, None))
        around.append(_Open(node.depth, None))


def _holds(outer: _Open, node: AxNode) -> bool:
    """An element that was left out has the depth of the nodes in it."""
    return outer.depth < node.depth or (outer.depth == node.depth and outer.element in node.around)
