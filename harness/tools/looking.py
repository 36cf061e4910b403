"""The tools that show a bot its document: a page of it, or what of it matches a search."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass

from formatters.catalog import Formatter, get
from formatters.errors import BadPattern, MissingRead, NoSuchPage
from formatters.found import render_found
from formatters.render import Reading, Rendering, render
from formatters.search import Search, element_matches, make_search
from harness.host.calls import BadCall
from harness.host.tab import Bookmark, Tab
from harness.host.tabs import BotTabs
from harness.tools.answer import Answer
from harness.tools.params import Find
from observe.capture import Body
from observe.errors import ObservationError
from observe.model import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How documents are shown; the fields are those of BotTools."""

    formatter: str
    bounded: bool
    paging: bool

    @property
    def body(self) -> Body:
        """The read that goes with the refs."""
        return "text" if self._formatter.needs == "text" else "ax"

    @property
    def _formatter(self) -> Formatter:
        return get(self.formatter)

    async def observe(self, tabs: BotTabs, page: int) -> Answer:
        """One page of the current tab's document.

        Raises:
            BadCall: the document ends before that page, or the driver lacks the read.
            Refusal, MalformedRead: as Tab.observe.
        """
        tab = tabs.current
        filled = self._formatter.filled if self.bounded else None
        observation = await self._read(tabs, tab.observe(self.body, filled, page, joined=self._formatter.joined))
        with tabs.stages.measure("format"):
            rendering = self._rendered(tab, observation)
        if rendering.seen is not None:
            tab.bookmark = Bookmark(document=observation.document, page=page, seen=rendering.seen)
        return Answer(text=rendering.text, observation=observation, rendering=rendering)

    async def find(self, tabs: BotTabs, given: Find) -> Answer:
        """What of the current tab's document matches.

        Raises:
            BadCall: it is nothing to search for, or the driver lacks the read.
            Refusal, MalformedRead: as Tab.find.
        """
        search = _search(given)
        tab = tabs.current
        found = tab.find(self.body, lambda element: element_matches(search, element))
        observation = await self._read(tabs, found)
        with tabs.stages.measure("format"):
            rendering = await asyncio.to_thread(self._found, observation, search)  # a bot's pattern may take long
        return Answer(text=rendering.text, observation=observation, rendering=rendering)

    async def _read(self, tabs: BotTabs, reading: Awaitable[Observation]) -> Observation:
        start = time.perf_counter()
        try:
            observation = await reading
        except ObservationError:
            tabs.stages.add(self.body, (time.perf_counter() - start) * 1000)
            raise
        tabs.stages.add("dom", observation.cost.dom_ms)
        tabs.stages.add(self.body, observation.cost.total_ms - observation.cost.dom_ms)
        return observation

    def _rendered(self, tab: Tab, observation: Observation) -> Rendering:
        mark, before = tab.bookmark, observation.page - 1
        known = mark is not None and (mark.document, mark.page) == (observation.document, before)
        reading = Reading(seen=mark.seen if mark is not None and known else None)
        try:
            return render(observation, self.formatter, reading if self.paging else None)
        except NoSuchPage as error:
            raise BadCall(f"{error.message}.") from error
        except MissingRead as error:
            raise self._lacking() from error

    def _found(self, observation: Observation, search: Search) -> Rendering:
        try:
            return render_found(observation, self.formatter, search)
        except MissingRead as error:
            raise self._lacking() from error

    def _lacking(self) -> BadCall:
        return BadCall(f"this driver does not read what the formatter {self.formatter} needs.")


def _search(given: Find) -> Search:
    try:
        return make_search("regex", given.regex) if given.regex is not None else make_search("text", given.text or "")
    except BadPattern as error:
        raise BadCall(f"find: {error.message}.") from error
