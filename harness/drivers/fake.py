"""Driver `fake`: documents in memory instead of a browser, under the same contract as every other driver.

It starts no process and opens no connection, so a trial of the harness itself needs neither Chrome nor a target. Two
runs with one seed draw the same nonces; they guard nothing here, as no foreign page code runs.
"""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from harness.config import Settings
from harness.drivers.fake_document import FakeDocument, FakeElement
from harness.drivers.fake_page import FakePage, SiteMap
from harness.targets.base import Endpoint

DEMO_URL = "http://fake.test/"


class FakeDriver:
    """Tabs over one site map."""

    def __init__(self, site: SiteMap, seed: int) -> None:
        self._site = site
        self._nonces = random.Random(seed)
        self._pages: list[FakePage] = []

    async def first_page(self) -> FakePage:
        """The oldest tab that is still open, or a new one if there is none."""
        still_open = next((page for page in self._pages if not page.closed), None)
        return still_open or await self.new_page()

    async def new_page(self) -> FakePage:
        """A new tab, empty."""
        page = FakePage(self._site, f"FAKE{len(self._pages) + 1}", self._nonces)
        self._pages.append(page)
        return page

    def diagnostics(self) -> tuple[str, ...]:
        """Nothing: this driver notes nothing."""
        return ()

    def end(self) -> None:
        """End every tab."""
        for page in self._pages:
            page.end()


class FakeHost:
    """The driver program, which is nothing but its site map: address without fragment -> a new document."""

    name = "fake"
    version = "1"

    def __init__(self, pages: SiteMap, seed: int = 0) -> None:
        self._pages = pages
        self._seed = seed

    @asynccontextmanager
    async def attach(self, endpoint: Endpoint) -> AsyncIterator[FakeDriver]:
        """A browser of its own; what `endpoint` says is not used, so it may hold anything."""
        driver = FakeDriver(self._pages, self._seed)
        try:
            yield driver
        finally:
            driver.end()


def demo() -> FakeDocument:
    """A page with one field and one button, which says what was saved."""
    note = FakeElement(kind="field", name="Note")
    saved = FakeElement(kind="text", name="Nothing saved yet.")

    def save(_document: FakeDocument) -> None:
        saved.name = f"Saved: {note.value}"

    heading, button = FakeElement(kind="heading", name="Demo"), FakeElement(kind="button", name="Save", on_click=save)
    return FakeDocument(title="Demo", elements=[heading, note, button, saved])


@asynccontextmanager
async def start(_settings: Settings | None = None) -> AsyncIterator[FakeHost]:
    """The driver over a site of one page, DEMO_URL."""
    yield FakeHost({DEMO_URL: demo})
