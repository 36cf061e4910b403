"""A whole host for bots on one machine: browsers, authority, the record, and the pages of the person who watches.

Everything that the parts leave open is decided here once, as ADR-0124 has it: profiles are kept, Browser Access is a
flag in a file, a person allows each session, and a link for a takeover goes to the person and never to the bot.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from formatters.catalog import get
from harness.config import Settings
from harness.errors import UsageError, quoted
from harness.host.access import BrowserAccess
from harness.host.audit import AuditLog
from harness.host.authority import Surroundings
from harness.host.browsers import DRIVERS, TARGETS, WITHOUT_TREE, opened_browsers
from harness.host.human import HumanApprover, HumanSite, serve_human
from harness.host.provider import Policy, Provider, opened
from harness.host.scope import DEFAULT_DRIVER, Bot, Choice
from harness.host.takeover import GivenTakeovers, Link, Takeovers
from harness.targets.profile import profile_folder
from harness.tools.answer import Answer
from harness.tools.bot import BotTools
from harness.tools.session import BotSession


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """What differs from host to host.

    `tell` is called with a bot's name and the address under which a person can take it over: show it to that person
    alone, and keep it out of logs. `paging`: bots reach all of a long document. `uploads` is the folder from which bots
    may upload files; None: none.
    """

    tell: Callable[[str, str], None]
    formatter: str = "conservative"
    paging: bool = False
    uploads: Path | None = None
    choice: Choice = field(default_factory=Choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class BotHost:
    """A host at work. `site.operator_link` opens the person's pages, once."""

    provider: Provider[Answer]
    site: HumanSite
    settings: Settings
    formatter: str

    async def switch(self, choice: Choice) -> None:
        """Choose another target or driver, as `Provider.switch`, which is asked only for what fits this host.

        Raises:
            UsageError: there is no such target or driver, or the driver does not read what the formatter needs.
            CleanupRequired: a browser of the former choice could not be ended.
        """
        check_choice(choice, self.formatter)
        await self.provider.switch(choice)

    def enter(self, bot: Bot, session: str) -> BotSession:
        """Register a session of the bot; what it calls goes through what this gives.

        Raises:
            NotAuthorized: the bot's Browser Access is off; `provider.set_access` switches it on.
            SessionTaken, ProfileFixed: the session is another bot's; the bot has another profile.
            ProfileNameWrong: the profile's name is not of the agreed form.
            AccessUnreadable: the flags cannot be read.
            CleanupRequired: an earlier browser of its profile could not be ended.
        """
        profile_folder(self.settings, bot.profile)  # its name is checked before anything begins
        self.provider.register(bot, session)
        return BotSession(self.provider, session)


@asynccontextmanager
async def bot_host(settings: Settings, options: HostOptions) -> AsyncIterator[BotHost]:
    """A host, until the block ends; then everything is stopped, and Chrome keeps what its profiles hold.

    Raises:
        UsageError: as `check_choice`.
        AuditError: calls cannot be recorded.
        OSError: no port can be opened for the person's pages.
    """
    check_choice(options.choice, options.formatter)

    def pause(bot: str) -> None:
        provider.pause(bot)

    def give(link: Link) -> None:
        options.tell(link.bot, site.takeover_link(link))

    def is_paused(bot: str) -> bool:
        return provider.authority.control(bot).paused

    takeovers, approver = Takeovers(pause, time.monotonic, is_paused), HumanApprover()
    async with AsyncExitStack() as stack:
        audit = stack.enter_context(AuditLog(settings.state_dir))
        browsers = await stack.enter_async_context(opened_browsers(settings, keep_profiles=True))
        tools = BotTools(
            formatter=options.formatter,
            paging=options.paging,
            uploads=options.uploads,
            takeovers=GivenTakeovers(takeovers=takeovers, give=give),
        )
        around = Surroundings(access=BrowserAccess(settings.state_dir), person=takeovers)
        policy = Policy(approver=approver, choice=options.choice, around=around)
        provider = await stack.enter_async_context(opened(Provider(browsers.make, tools, audit, policy)))
        site = await stack.enter_async_context(serve_human(provider, takeovers, approver, provider.authority.known))
        yield BotHost(provider=provider, site=site, settings=settings, formatter=options.formatter)


def check_choice(choice: Choice, formatter: str) -> None:
    """
    Raises:
        UsageError: there is no such target or driver, or a driver does not read what the formatter needs.
    """
    needs = get(formatter).needs
    drivers = {choice.target: DEFAULT_DRIVER, **choice.drivers}
    for known, given, kind in ((TARGETS, drivers.keys(), "target"), (DRIVERS, drivers.values(), "driver")):
        for name in given:
            if name not in known:
                raise UsageError(f"no {kind} is called {quoted(name)}; there are {', '.join(known)}")
    for driver in drivers.values():
        if driver in WITHOUT_TREE and needs == "tree":
            raise UsageError(f"the driver {driver} has no tree for the formatter {formatter}; take conservative")
