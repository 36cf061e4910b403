"""The document that the driver `fake` shows: elements as plain data, and effects as Python functions.

A document is the page author's side. It knows nothing of refs, nonces or refusals; those belong to the tab.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urldefrag, urljoin

from harness.drivers.base import DialogKind
from observe.model import TriState

VIEWPORT_HEIGHT = 720
"""Height of the window in px, as of every other driver."""

Kind = Literal["text", "heading", "button", "link", "field", "password", "select", "file", "checkbox"]
Effect = Callable[["FakeDocument"], None]
Answered = Callable[["FakeDocument", bool, str], None]
"""What the page does once a dialog was accepted or not, with the text that was given."""

INTERACTIVE: frozenset[Kind] = frozenset({"button", "link", "field", "password", "select", "file", "checkbox"})
"""The kinds that get a ref."""

TEXTUAL: frozenset[Kind] = frozenset({"field", "password"})
"""The kinds that take typed text."""


@dataclass(slots=True, kw_only=True, eq=False)
class FakeElement:
    """One element, in document order. Page code may change every field at any time; two equal elements are still two.

    `row` is the text of the nearest row-like ancestor, None outside of any. `covered_by` is the role of what lies over
    the element. `href` is resolved against the document's address. `opens_file_field` is the file field whose chooser a
    click opens. Of a select, `chosen` holds the options that are chosen, and `value` is not used.
    """

    kind: Kind
    name: str = ""
    value: str = ""
    options: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    multiple: bool = False
    checked: TriState | None = None
    disabled: bool = False
    readonly: bool = False
    required: bool = False
    invalid: bool = False
    expanded: TriState | None = None
    selected: TriState | None = None
    pressed: TriState | None = None
    hidden: bool = False
    row: str | None = None
    covered_by: str | None = None
    href: str | None = None
    opens_file_field: "FakeElement | None" = None
    files: tuple[str, ...] = ()
    on_click: Effect | None = None
    on_change: Effect | None = None
    on_key: Callable[["FakeDocument", str], None] | None = None

    def shown_value(self) -> str:
        """What the element holds, as its page shows it; of a password nothing."""
        if self.kind == "select":
            return ", ".join(self.chosen)
        return self.value if self.kind == "field" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeDialog:
    """A native dialog that the page has opened, and how it goes on after the answer."""

    kind: DialogKind
    message: str
    answered: Answered


@dataclass(slots=True, kw_only=True, eq=False)
class FakeDocument:
    """One loaded document. Effects change its fields and call its methods, as a page's script would.

    `height` is that of its content in px. `facts` is what the page's script remembers, for a test to read back.
    `asks_before_leaving` opens a `beforeunload` dialog before any other document takes its place.
    """

    title: str
    elements: list[FakeElement] = field(default_factory=list)
    url: str = "about:blank"
    height: int = VIEWPORT_HEIGHT
    scroll_y: int = 0
    asks_before_leaving: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    focused: FakeElement | None = None
    alerts: list[str] = field(default_factory=list)
    dialogs: list[FakeDialog] = field(default_factory=list)
    next_url: str | None = None

    def find(self, name: str, kind: Kind | None = None) -> FakeElement:
        """The first element of that name, and of that kind where one is given.

        Raises:
            LookupError: there is none.
        """
        for element in self.elements:
            if element.name == name and kind in (None, element.kind):
                return element
        raise LookupError(name)

    def holds(self, element: FakeElement) -> bool:
        """Whether this very element is in the document; one that is equal to it is not."""
        return any(one is element for one in self.elements)

    def replace(self, old: FakeElement, *new: FakeElement) -> None:
        """Put `new` in the place of `old`; without any, take it away."""
        at = next(index for index, one in enumerate(self.elements) if one is old)
        self.elements[at : at + 1] = new

    def alert(self, message: str) -> None:
        """Open an alert. The tab accepts it at once."""
        self.alerts.append(message)

    def confirm(self, message: str, answered: Answered) -> None:
        """Open a confirm dialog, which waits for its answer."""
        self.dialogs.append(FakeDialog(kind="confirm", message=message, answered=answered))

    def prompt(self, message: str, answered: Answered) -> None:
        """Open a prompt dialog, which waits for its answer."""
        self.dialogs.append(FakeDialog(kind="prompt", message=message, answered=answered))

    def open(self, href: str) -> None:
        """Go to an address, relative to this document's. Another fragment alone does not replace the document."""
        address = urljoin(self.url, href)
        if "#" in href and urldefrag(address).url == urldefrag(self.url).url:
            self.url = address
        else:
            self._leave(address)

    def reload(self) -> None:
        """Load the same address again, as a new document."""
        self._leave(self.url)

    def _leave(self, address: str) -> None:
        if not self.asks_before_leaving:
            self.next_url = address
            return

        def answered(document: FakeDocument, accepted: bool, _text: str) -> None:
            if accepted:
                document.next_url = address

        self.dialogs.append(FakeDialog(kind="beforeunload", message="", answered=answered))
