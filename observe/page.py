"""What an observation needs of a driver's page, and nothing more."""

from typing import Protocol

from observe.model import AxText, DomObservation, PageText, Stamp


class ReadablePage(Protocol):
    """A page as capture sees it. Drivers satisfy it by shape.

    Every method raises DocumentReplaced, PageGone, DriverGone, DialogOpen or TimedOut where it applies, and
    MalformedRead where the page script's answer does not decode.
    """

    async def document_nonce(self) -> str:
        """The nonce of the document now in the main frame; a replaced document has another one."""
        ...

    async def read_ax(self) -> AxText:
        """The full accessibility tree, all frames joined in place."""
        ...

    async def read_text(self) -> PageText:
        """The visible text of the main frame."""
        ...

    async def read_dom(self, stamp: Stamp) -> DomObservation:
        """Stamp and describe the action refs, and end those of earlier observations."""
        ...
