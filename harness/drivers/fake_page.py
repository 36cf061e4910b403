"""One tab of the driver `fake`: loads documents from a site map, resolves refs, refuses as every driver does."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag

from harness.drivers import fake_reads as reads
from harness.drivers.base import Dialog, RefTarget
from harness.drivers.fake_document import TEXTUAL, VIEWPORT_HEIGHT, Effect, FakeDialog, FakeDocument, FakeElement
from harness.drivers.load_failure import refuse_relative
from harness.drivers.script_answer import check, check_point
from observe import limits
from observe.ax import write_native
from observe.capture import REPLACED
from observe.dom import decode_dom, decode_elements
from observe.errors import DialogOpen, DocumentReplaced, DriverGone, LoadFailed, NotEditable, PageGone
from observe.model import AxText, DomObservation, PageText, Reads, SearchedElements, Stamp
from observe.page import Filled

SiteMap = Mapping[str, Callable[[], FakeDocument]]
"""Address without fragment -> a new document for each load."""

VIEWPORT_WIDTH = 1280
_BLANK = "about:blank"
_NO_ADDRESS = "net::ERR_NAME_NOT_RESOLVED"
_MOST_DOCUMENTS = 20
"""A chain of documents that each open the next one ends here, as in a browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamped:
    """The elements of the latest DOM read, each with what was shown of it. A new document has none."""

    nonce: str = ""
    shown: tuple[tuple[FakeElement, reads.Identity], ...] = ()


class FakePage:
    """One tab. `document` is what it shows now, for page code and tests to change through `run`."""

    def __init__(self, site: SiteMap, target_id: str, nonces: random.Random) -> None:
        self.target_id = target_id
        self.document = FakeDocument(title="")
        self.closed = False
        self._site = site
        self._nonces = nonces
        self._nonce = self._new_nonce()
        self._held: str | None = None  # the document that the caller knows of
        self._stamped = _Stamped()
        self._searched: Sequence[FakeElement] = ()
        self._failed = False  # whether the latest load found no document
        self._alerts: list[Dialog] = []
        self._gone: type[PageGone] | type[DriverGone] = PageGone

    def end(self) -> None:
        """The browser ends, and the tab with it."""
        self.closed, self._gone = True, DriverGone

    # ---- reads ----

    async def document_nonce(self) -> str:
        self._ready()
        self._held = self._nonce
        return self._nonce

    async def read_ax(self, filled: Filled | None = None) -> AxText:
        self._ready()
        nodes = reads.ax_nodes(self.document)
        return AxText(source="tree", text=write_native(nodes), nodes=nodes)

    async def read_text(self) -> PageText:
        self._same_document()
        return reads.page_text(self.document)

    async def read_dom(self, stamp: Stamp, *, counted: bool = True, before: int = 0) -> DomObservation:
        self._same_document()
        found = reads.candidates(self.document)
        return self._stamp(stamp, found, reads.window(found, before))

    async def read_elements(self) -> SearchedElements:
        self._same_document()
        self._searched = reads.candidates(self.document)
        return decode_elements(reads.elements_answer(self.document))

    async def read_chosen(self, stamp: Stamp, chosen: Sequence[int]) -> DomObservation:
        self._same_document()
        return self._stamp(stamp, [self._searched[place] for place in chosen], slice(0, limits.MAX_REFS))

    def _stamp(self, stamp: Stamp, found: Sequence[FakeElement], part: slice) -> DomObservation:
        shown = tuple((one, reads.identity(one)) for one in found[part])
        self._stamped = _Stamped(nonce=stamp.nonce, shown=shown)
        return decode_dom(reads.dom_answer(self.document, self._nonce, found, part), stamp)

    async def read_together(self, stamp: Stamp, filled: Filled) -> Reads | None:
        return None

    async def read_ids(self, stamp: Stamp) -> tuple[int, ...]:
        self._same_document()
        shown = self._stamped.shown if self._stamped.nonce == stamp.nonce else ()
        return tuple(reads.element_id(element) for element, _ in shown)

    # ---- actions ----

    async def navigate(self, url: str) -> None:
        """Load `url` from the site map.

        Raises:
            LoadFailed: the site map does not have it; the tab then shows an empty document. Or it has no scheme.
        """
        refuse_relative(url)
        self._ready()
        self._failed = False
        self.run(lambda document: document.open(url))
        if self._failed:
            raise LoadFailed(f"The page could not be loaded ({_NO_ADDRESS}).", input_sent=True)

    async def click(self, target: RefTarget) -> None:
        element = self._resolve(target)
        why = "it is disabled" if element.disabled else "it is hidden or inert" if element.hidden else None
        if why is not None:
            check({"status": "not_clickable", "why": why})
        if element.covered_by is not None:
            check({"status": "covered", "by": element.covered_by})
        self._press(element)

    async def click_at(self, x: float, y: float) -> None:
        """Documents in memory have no layout: every point is empty."""
        self._ready()
        check_point(x, y, [VIEWPORT_WIDTH, VIEWPORT_HEIGHT])

    async def type(self, target: RefTarget, text: str) -> str | None:
        element = self._resolve(target)
        if element.kind not in TEXTUAL:
            check({"status": "not_editable", "why": "it is no text field"})
        self._check_field(element)
        self.document.focused = element
        document = self._nonce
        if text or element.value:
            element.value = text
            self.run(element.on_change)
        if self.dialog is not None or self._nonce != document or element.kind == "password":
            return None
        return element.value[: limits.MAX_VALUE_CHARS]

    async def select_option(self, target: RefTarget, labels: tuple[str, ...]) -> None:
        element = self._resolve(target)
        if element.kind != "select":
            why = "it is no native select; click it, then click its option"
            check({"status": "not_editable", "why": why})
        self._check_field(element)
        wanted = [reads.fold(label) for label in labels]
        if not set(wanted) <= set(element.options):
            check({"status": "not_editable", "why": "it has no enabled option with this text"})
        if len(wanted) != 1 and not element.multiple:
            check({"status": "not_editable", "why": "it takes exactly one option"})
        chosen = tuple(option for option in element.options if option in wanted)
        if chosen != element.chosen:
            element.chosen = chosen
            self.run(element.on_change)

    async def upload(self, target: RefTarget | None, path: Path) -> None:
        if target is None:
            self._same_document()
            element = self._only_file_field()
        else:
            element = self._resolve(target)
            if element.kind != "file":
                await self.click(target)
                element = self._opened_file_field(element)
        if element.disabled:
            check({"status": "not_editable", "why": "it is disabled"})
        element.files = (path.name,)
        self.run(element.on_change)

    async def press_key(self, key: str) -> None:
        """Give `key` to the element that has the focus: one character goes into a text field, Backspace takes the last
        one away, Enter presses a button or link. Every key reaches the element's own `on_key`."""
        self._ready()
        element = self.document.focused
        if element is None or not self.document.holds(element):
            return
        if element.kind in TEXTUAL and not (element.readonly or element.disabled):
            self._edit(element, key)
        elif key == "Enter" and not element.disabled:
            self._press(element)
        if (on_key := element.on_key) is not None:
            self.run(lambda document: on_key(document, key))

    async def scroll(self, delta_y: int) -> int:
        self._same_document()
        before, most = self.document.scroll_y, max(self.document.height - VIEWPORT_HEIGHT, 0)
        self.document.scroll_y = min(max(before + delta_y, 0), most)
        return self.document.scroll_y - before

    async def show(self) -> None:
        """Documents in memory are always in front."""
        self._ready()

    async def screenshot(self) -> bytes:
        """A grey picture of the window's size: a document without a browser has no looks."""
        self._ready()
        return reads.grey_jpeg(VIEWPORT_WIDTH, VIEWPORT_HEIGHT)

    async def settle(self) -> None:
        """Nothing to wait for: every effect has ended when its action returns."""
        if self.closed:
            raise self._refusal(sent=True)
        if self.dialog is None:
            self._held = self._nonce

    async def close(self) -> None:
        if self._waiting is not None:
            self._ready()
        self.closed = True

    # ---- dialogs ----

    @property
    def _waiting(self) -> FakeDialog | None:
        return self.document.dialogs[0] if self.document.dialogs else None

    @property
    def dialog(self) -> Dialog | None:
        waiting = self._waiting
        return None if waiting is None else Dialog(kind=waiting.kind, message=waiting.message)

    def take_alerts(self) -> tuple[Dialog, ...]:
        taken, self._alerts = tuple(self._alerts), []
        return taken

    async def answer_dialog(self, accept: bool, text: str | None) -> None:
        waiting = self._waiting
        if waiting is None:
            return
        if self.closed:
            raise self._refusal(sent=True)
        self.document.dialogs.pop(0)
        self.run(lambda document: waiting.answered(document, accept, text or ""))

    # ---- the page's own code ----

    def run(self, effect: Effect | None) -> None:
        """Run page code on the document, then carry out what it asked for: alerts, and another document."""
        if effect is not None:
            effect(self.document)
        self._carry_on()

    def _carry_on(self) -> None:
        for _ in range(_MOST_DOCUMENTS):
            document = self.document
            self._alerts += [Dialog(kind="alert", message=message) for message in document.alerts]
            document.alerts.clear()
            if document.next_url is None or document.dialogs:
                return
            self._load(document.next_url)

    def _load(self, url: str) -> None:
        make = self._site.get(urldefrag(url).url)
        self._failed = make is None and url != _BLANK
        self.document = FakeDocument(title="") if make is None else make()
        self.document.url = url
        self._nonce, self._stamped = self._new_nonce(), _Stamped()

    def _press(self, element: FakeElement) -> None:
        document = self.document
        document.focused = element
        if element.kind == "checkbox":
            element.checked = "false" if element.checked == "true" else "true"
            self.run(element.on_change)
        self.run(element.on_click)
        if (href := element.href) is not None and self.document is document:
            self.run(lambda document: document.open(href))

    def _edit(self, element: FakeElement, key: str) -> None:
        edited = element.value[:-1] if key == "Backspace" else element.value + key if len(key) == 1 else element.value
        if edited != element.value:
            element.value = edited
            self.run(element.on_change)

    # ---- refusals ----

    def _new_nonce(self) -> str:
        return f"{self._nonces.getrandbits(4 * limits.NONCE_HEX_CHARS):0{limits.NONCE_HEX_CHARS}x}"

    def _refusal(self, sent: bool | None = None) -> PageGone | DriverGone:
        text = "The tab was closed." if self._gone is PageGone else "The browser ended."
        return self._gone(text, input_sent=sent)

    def _ready(self) -> None:
        if self.closed:
            raise self._refusal()
        if (waiting := self._waiting) is not None:
            raise DialogOpen(f"A native {waiting.kind} dialog is open; answer it with the tool dialog.")

    def _same_document(self) -> None:
        self._ready()
        if self._held != self._nonce:
            raise DocumentReplaced(REPLACED)

    def _resolve(self, target: RefTarget) -> FakeElement:
        """The element that a ref names, or the first refusal that fits, in the order of the contract."""
        self._same_document()
        if target.stamp.nonce != self._stamped.nonce or not 1 <= target.n <= len(self._stamped.shown):
            check({"status": "stale_ref"})
        element, shown = self._stamped.shown[target.n - 1]
        if not self.document.holds(element):
            check({"status": "missing_node"})
        if reads.identity(element) != shown:
            check({"status": "changed_element"})
        return element

    def _check_field(self, element: FakeElement) -> None:
        states = (
            (element.disabled, "it is disabled"),
            (element.readonly, "it is read-only"),
            (element.hidden, "it is hidden or inert"),
        )
        for applies, why in states:
            if applies:
                check({"status": "not_editable", "why": why})

    def _only_file_field(self) -> FakeElement:
        found = [one for one in self.document.elements if one.kind == "file" and not one.disabled]
        if len(found) != 1:
            why = f"the page has {len(found)} file fields; name one by its ref"
            check({"status": "not_editable", "why": why})
        return found[0]

    def _opened_file_field(self, element: FakeElement) -> FakeElement:
        if element.opens_file_field is None:
            raise NotEditable("The element opens no file chooser.", input_sent=True)
        return element.opens_file_field
