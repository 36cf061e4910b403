"""One tab under one owner: its latest observation, and which refs of it an action may still name."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.drivers.base import DriverPage, RefTarget
from observe import limits
from observe.capture import REPLACED, Body, capture
from observe.errors import DocumentReplaced, StaleRef
from observe.model import Observation, Part, SearchedElement
from observe.page import Filled

_REF = re.compile(rf"e([a-z0-9]{{{limits.TAG_CHARS}}})_([1-9][0-9]{{0,3}})", re.ASCII)

NEVER_OBSERVED = "This tab was not observed yet; observe first."
NO_REF = "This is no ref; a ref is written whole, such as e4k2p9z_1; observe again."
STALE = "This ref is not of the latest observation of this tab; observe again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """How far a document was read: its nonce, the page shown last, a digest of the text up to that page's end."""

    document: str
    page: int
    seen: str


class Tab:
    """Holds what docs/observation.md, section 3, asks of the host: the pair of tag and nonce of the latest observation.

    Refs live until the next observation, also one that was refused, until the document is replaced, or until the host
    ends them.
    """

    def __init__(self, page: DriverPage) -> None:
        self.page = page
        self.bookmark: Bookmark | None = None
        self._latest: Observation | None = None
        self._ended = True
        self._ends = 0

    @property
    def latest(self) -> Observation | None:
        """The latest observation, whether its refs still count or not."""
        return self._latest

    def end_refs(self) -> None:
        """No ref of before counts any more, nor one of an observation that is under way."""
        self._ended = True
        self._ends += 1

    async def observe(
        self, body: Body, filled: Filled | None = None, page: int = 1, *, joined: bool = False
    ) -> Observation:
        """A new observation, as observe.capture; every earlier ref ends, also where this one is refused. From page 2 on
        it goes on in the document of the latest one.

        Raises:
            StaleRef: there is no latest observation to go on from.
            Refusal, MalformedRead: as observe.capture.
        """
        if page == 1:
            return await self._captured(body, filled, Part(joined=joined))
        if self._latest is None:
            raise StaleRef(NEVER_OBSERVED)
        return await self._captured(body, filled, Part(page=page, document=self._latest.document, joined=joined))

    async def find(self, body: Body, matches: Callable[[SearchedElement], bool]) -> Observation:
        """A new observation of the whole document, whose refs are those of the elements that match.

        Raises:
            Refusal, MalformedRead: as observe.capture.
        """
        return await self._captured(body, None, Part(matches=matches))

    async def _captured(self, body: Body, filled: Filled | None, part: Part) -> Observation:
        self._ended = True
        ends = self._ends
        observation = await capture(self.page, body, filled=filled, part=part)
        self._latest, self._ended = observation, self._ends != ends
        return observation

    async def target(self, ref: str) -> RefTarget:
        """What `ref` names, if it is a ref of the latest observation and its document is still there.

        Raises:
            PageGone, DriverGone, DialogOpen: before anything else.
            DocumentReplaced: the tab shows another document than the one observed; its refs have ended.
            StaleRef: any other tag, number or form.
        """
        document = await self.page.document_nonce()
        latest = self._latest
        if latest is None:
            raise StaleRef(NEVER_OBSERVED)
        if document != latest.document:
            self._ended = True
            raise DocumentReplaced(REPLACED)
        match = _REF.fullmatch(ref)
        if match is None:
            raise StaleRef(NO_REF)
        if self._ended or match[1] != latest.stamp.tag or int(match[2]) > len(latest.refs):
            raise StaleRef(STALE)
        return RefTarget(stamp=latest.stamp, n=int(match[2]))
