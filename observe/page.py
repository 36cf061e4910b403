"""What an observation needs of a driver's page, and nothing more."""

from collections.abc import Callable, Sequence
from typing import Protocol

from observe.model import AxNode, AxText, DomObservation, PageText, Reads, SearchedElements, Stamp

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

    async def read_dom(self, stamp: Stamp, *, counted: bool = True, before: int = 0) -> DomObservation:
        """Stamp and describe the action refs, and end those of earlier observations. `counted`: also count the rest.

        `before`: leave out so many elements, but none where all of them fit.
        """
        ...

    async def read_elements(self) -> SearchedElements:
        """Describe all elements that qualify as action refs, and stamp none."""
        ...

    async def read_chosen(self, stamp: Stamp, chosen: Sequence[int]) -> DomObservation:
        """As `read_dom`, of these elements alone: their places in the latest answer of `read_elements`, from 0."""
        ...

    async def read_together(self, stamp: Stamp, filled: Filled) -> Reads | None:
        """`read_ax` and `read_dom` in one go, not counted, under one nonce; None: this driver has no faster way."""
        ...

    async def read_ids(self, stamp: Stamp) -> tuple[int, ...]:
        """DevTools' ids of the elements that the DOM read with this stamp gave refs, in their order."""
        ...
