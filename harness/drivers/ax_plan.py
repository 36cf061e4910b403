"""What the page script chose of a long page (ax_plan.js), and what is asked of Chrome for it."""

from harness.drivers.cdp import Command, Json

SMALL_ELEMENTS = 100
"""Up to so many elements all of the tree is read sooner than a part is chosen."""

NODES_OF_ELEMENT = 1.8
"""DOM nodes for each element of a page, about."""

NODES_OF_CALL = 4
"""What one more call costs, in nodes of an answer."""


def whole_is_cheaper(elements: int, nodes: int, calls: int) -> bool:
    """Whether all of a document is read sooner than these nodes by these calls."""
    return elements <= SMALL_ELEMENTS or nodes + calls * NODES_OF_CALL >= elements * NODES_OF_ELEMENT


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
