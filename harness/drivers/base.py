"""What the host needs of a driver: pages that can be read and acted on. A driver is a mechanism; it decides nothing."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from harness.targets.base import Endpoint
from observe.model import Stamp
from observe.page import ReadablePage

DialogKind = Literal["alert", "confirm", "prompt", "beforeunload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """A native dialog of the page. `message` is page text, unbounded here."""

    kind: DialogKind
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefTarget:
    """The n-th element of the observation that `stamp` marks."""

    stamp: Stamp
    n: int


class DriverPage(ReadablePage, Protocol):
    """One tab. Actions resolve their ref in the page, in the order of docs/observation.md, section 5, and send nothing
    when they refuse; each returns when its input was sent, or when a dialog that it opened is waiting.

    Every method raises the refusals of observe.errors; `input_sent` says whether input may have reached the page.
    """

    @property
    def target_id(self) -> str:
        """Chrome's id of the tab."""
        ...

    @property
    def dialog(self) -> Dialog | None:
        """The confirm, prompt or beforeunload dialog that waits for its answer."""
        ...

    def take_alerts(self) -> tuple[Dialog, ...]:
        """The alerts that were accepted since the last call, oldest first."""
        ...

    async def navigate(self, url: str) -> None:
        """Load an address that has a scheme."""
        ...

    async def click(self, target: RefTarget) -> None: ...

    async def click_at(self, x: float, y: float) -> None:
        """Click whatever lies at a point, in CSS px from the window's corner; outside of it: NotClickable."""
        ...

    async def type(self, target: RefTarget, text: str) -> str | None:
        """Replace what the field holds; what it holds now (256 code points), None where that is not told."""
        ...

    async def select_option(self, target: RefTarget, labels: tuple[str, ...]) -> None: ...

    async def upload(self, target: RefTarget | None, path: Path) -> None: ...

    async def press_key(self, key: str) -> None: ...

    async def scroll(self, delta_y: int) -> int | None:
        """Scroll what lies under the middle of the window by `delta_y` px; how far it went until it stood still, None
        where the page cannot be asked any more."""
        ...

    async def show(self) -> None:
        """Bring the tab to the front of its window: one behind another is not drawn."""
        ...

    async def screenshot(self) -> bytes:
        """The viewport as JPEG, quality 60, scale 1."""
        ...

    async def answer_dialog(self, accept: bool, text: str | None) -> None: ...

    async def settle(self) -> None:
        """Wait until the document has loaded and its DOM is quiet, both within bounds."""
        ...

    async def close(self) -> None: ...


class Driver(Protocol):
    """A driver attached to one browser."""

    async def first_page(self) -> DriverPage:
        """The tab that the browser started with."""
        ...

    async def new_page(self) -> DriverPage: ...

    def diagnostics(self) -> tuple[str, ...]:
        """What the driver noted of its own work, a bounded number of bounded lines; it may quote page text, so it stays
        in the trial's folder."""
        ...


class DriverHost(Protocol):
    """A started driver program, which can attach to one browser after another."""

    name: str
    version: str

    def attach(self, endpoint: Endpoint) -> AbstractAsyncContextManager[Driver]:
        """Attached to `endpoint`; everything that this opened is closed at the end.

        Raises:
            DriverError: the browser does not answer as expected.
        """
        ...
