"""What the page script chose of a long page (ax_plan.js), and what is asked of Chrome for it."""

from harness.drivers.cdp import Command, Json

SMALL_ELEMENTS = 100
"""Up to so many elements all of the tree is read sooner than a part is chosen."""

NODES_OF_ELEMENT = 1.8
"""DOM nodes for each element of a page, about."""

NODE_OF_SUBTREE = 1.4
"""What a node costs where a subtree is asked for, in nodes of the whole tree."""

NODES_OF_CALL = 4
"""What one more call costs, in nodes of the whole tree."""


def whole_is_cheaper(elements: int, nodes: int, calls: int) -> bool:
    """Whether all of a document is read sooner than these nodes by these calls."""
    parts = nodes * NODE_OF_SUBTREE + calls * NODES_OF_CALL
    return elements <= SMALL_ELEMENTS or parts >= elements * NODES_OF_ELEMENT


class Plan:
    """What the script chose: nonce and size of the document, nodes of the subtrees, elements around them, and roots."""

    def __init__(self, document: str, elements: int, around: int, all_planned: bool, nodes: int, *found: str) -> None:
        self.document = document
        self.elements = elements
        self.all_planned = all_planned
        self.nodes = nodes
        self.around, self.roots = found[:around], found[around:]

    def commands(self) -> list[Command]:
        """The subtrees first: Chrome collects what is asked of them, and answers it all when it is asked for a single
        node; else it waits until it draws the next frame."""
        return [
            *(subtree({"objectId": each}) for each in self.roots),
            *(single({"objectId": each}) for each in self.around or self.roots[:1]),
        ]


def single(node: Json) -> Command:
    return Command("Accessibility.getPartialAXTree", {**node, "fetchRelatives": False})


def subtree(node: Json) -> Command:
    return Command("Accessibility.queryAXTree", node)
