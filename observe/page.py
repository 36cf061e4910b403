"""What an observation needs of a driver's page, and nothing more."""

from collections.abc import Callable, Sequence
from typing import Protocol

from observe.model import AxNode, AxText, DomObservation, PageText, Stamp

Filled = Callable[[Sequence[AxNode]], float]
"""How much of what a model is shown these first nodes of a tree fill; from 1 on they fill it."""


class ReadablePage(Protocol):
    """A page as capture sees it. Drivers satisfy it by shape.

    Every method raises DocumentReplaced, PageGone, DriverGone, DialogOpen or TimedOut where it applies, and
    MalformedRead where the page script's answer does not decode.
    """

    async def document_nonce(self) -> str:
        """The nonce of the document now in the main frame; a replaced document has another one."""
        ...

    async def read_ax(self, filled: Filled | None = None) -> AxText:
        """The full accessibility tree, all frames joined in place; with `filled` a driver that can may stop there."""
        ...

    async def read_text(self) -> PageText:
        """The visible text of the main frame."""
        ...

    async def read_dom(self, stamp: Stamp, *, counted: bool = True) -> DomObservation:
        """Stamp and describe the action refs, and end those of earlier observations. `counted`: also count the rest."""
        ...

    async def read_elements(self, stamp: Stamp) -> tuple[int, ...]:
        """DevTools' ids of the elements that the DOM read with this stamp gave refs, in their order."""
        ...
