"""The tabs of one bot as a call may use them: only its own, and only in its own name."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from harness.drivers.base import DriverPage
from harness.errors import AxtrialError
from harness.host.authority import Authority, refusal
from harness.host.calls import Call
from harness.host.guarded import GuardedPage
from harness.host.owners import Owners
from harness.host.runtime import Runtime, Slot, bounded
from harness.host.stages import Stages
from harness.host.tab import Tab
from observe.errors import DialogOpen, ObservationError, PageGone

CLOSE_S = 5.0
"""Seconds for a tab to close; a page that holds it open longer is left to the end of its browser."""


@dataclass(slots=True, kw_only=True, eq=False)
class OwnedTab:
    """One tab of one owner, in the browser `runtime`."""

    tab: Tab
    page: GuardedPage
    runtime: Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class TabInfo:
    """One of a bot's tabs. `url` is that of its latest observation, which the page chose; None: not observed."""

    target_id: str
    url: str | None
    current: bool


@dataclass(slots=True, kw_only=True)
class BotTabs:
    """What one call may touch, for as long as it runs."""

    call: Call
    authority: Authority
    owners: Owners[OwnedTab]
    slot: Slot
    bot: str = field(init=False)

    def __post_init__(self) -> None:
        self.bot = self.call.ticket.registration.bot

    @property
    def stages(self) -> Stages:
        """Where the time of the call goes, for its tool to fill in."""
        return self.call.times.stages

    @property
    def current(self) -> Tab:
        """The bot's current tab.

        Raises:
            PageGone: it has none.
        """
        return self._used(self.owners.current(self.bot)).tab

    @property
    def has_current(self) -> bool:
        """Whether the bot has a current tab."""
        return self.owners.current_id(self.bot) is not None

    @asynccontextmanager
    async def opening(self, *, new: bool = False) -> AsyncIterator[Tab]:
        """The current tab, or a new one, which is closed again where the block fails.

        Raises:
            TargetError, DriverError, CleanupRequired: there is no browser, and none can be started.
        """
        if self.has_current and not new:
            yield self.current
            return
        made = await self.open()
        try:
            yield made.tab
        except ObservationError:
            self.owners.discard(self.bot, made)
            await close_page(made.page.inner)
            raise

    async def open(self) -> OwnedTab:
        """A new, empty tab, which becomes the current one.

        Raises:
            As `opening`, and whatever the cap on tabs raises.
        """
        ticket = self.call.ticket
        self.owners.admit(self.bot)
        runtime = await self.slot.started(ticket.scope.key, lambda: self.authority.check(ticket))
        self.call.runtime = runtime
        page = await _new_page(runtime)
        if ticket.registration.ended is not None:
            await close_page(page)
            raise refusal(ticket.registration.ended)
        guarded = GuardedPage(page, self.bot, self.authority, lambda: self.owners.discard(self.bot, owned))
        owned = OwnedTab(tab=Tab(guarded), page=guarded, runtime=runtime)
        self.owners.add(self.bot, page.target_id, owned)
        return owned

    async def list(self) -> tuple[TabInfo, ...]:
        """The bot's tabs that still exist, oldest first."""
        for owned in self.owners.tabs(self.bot).values():
            with suppress(PageGone, DialogOpen):  # one that is gone drops out by itself; one with a dialog is there
                await self._used(owned).page.document_nonce()
        now = self.owners.current_id(self.bot)
        return tuple(
            TabInfo(target_id=tab_id, url=latest.url if (latest := owned.tab.latest) else None, current=tab_id == now)
            for tab_id, owned in self.owners.tabs(self.bot).items()
        )

    async def select(self, tab_id: str) -> Tab:
        """Make one of the bot's own tabs the current one.

        Raises:
            PageGone: it has none of this id, or that tab was closed.
        """
        owned = self._used(self.owners.own(self.bot, tab_id))
        with suppress(DialogOpen):
            await owned.page.show()
        self.owners.select(self.bot, tab_id)
        return owned.tab

    async def close(self, tab_id: str) -> None:
        """Close one of the bot's own tabs.

        Raises:
            PageGone: it has none of this id.
            DialogOpen: a dialog of the page waits for its answer first.
        """
        owned = self._used(self.owners.own(self.bot, tab_id))
        await owned.page.close()
        self.owners.discard(self.bot, owned)

    def _used(self, owned: OwnedTab) -> OwnedTab:
        self.call.runtime = owned.runtime
        return owned


async def close_page(page: DriverPage) -> None:
    """Close a tab that nobody owns, within bounds; one that is gone, or does not close, is left alone."""
    with suppress(ObservationError):
        await bounded(page.close(), CLOSE_S)


_CLOSING: set[asyncio.Task[None]] = set()


async def _new_page(runtime: Runtime) -> DriverPage:
    """A new tab; where the caller is cancelled meanwhile, it is closed as soon as it is there."""
    making = asyncio.ensure_future(runtime.new_page())

    async def close() -> None:
        with suppress(ObservationError, AxtrialError):
            await close_page(await making)

    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        closing = asyncio.create_task(close())
        _CLOSING.add(closing)
        closing.add_done_callback(_CLOSING.discard)
        raise
