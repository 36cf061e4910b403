"""The Browser Provider: every call of a PersonaBot passes here, and every change of who may do what.

The order of one call, all steps on every call: record, ticket, approval, wait for cleanup, check, queue, check, run,
check, record. See docs/observation.md, section 5, for what is refused. The rules are in `authority`, the tabs in
`tabs`, browsers in `runtime`, and what ends them in `changes`.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pydantic import JsonValue

from harness.errors import DriverError
from harness.host.approvals import APPROVAL_S, Approvals, Approver
from harness.host.audit import AuditEntry
from harness.host.authority import Authority, Fence, Surroundings, Ticket
from harness.host.calls import Audit, BadCall, Call, CallTimes, Recorded, current, until_ended
from harness.host.changes import IDLE_LIMIT_S, IDLE_TICK_S, Changes
from harness.host.control import OBSERVES
from harness.host.grants import Registration
from harness.host.lane import Lanes
from harness.host.owners import Admit, Owners, few_each
from harness.host.redact import redact
from harness.host.runtime import MakeRuntime, Slots
from harness.host.scope import Bot, Choice
from harness.host.tabs import BotTabs, OwnedTab
from harness.process import finish
from observe.errors import AuthorityChanged, CleanupRequired, DriverGone, ObservationError

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")

ONE_LANE = frozenset({"agent-browser"})
"""Drivers whose calls queue by profile too, and not by bot alone (ADR-0124)."""

TOUCHES_NO_PAGE = frozenset({"wait", "takeover"})
"""Tools that last long and hold up no other bot meanwhile."""

NOBODY = "-"
"""The bot in the record of a call whose session is not known."""


class Toolset(Protocol[A_co]):
    """Carries the calls out. Everything that it touches it gets from `tabs`, which serves this one call."""

    async def run(self, tabs: BotTabs, tool: str, arguments: Mapping[str, JsonValue]) -> A_co:
        """The answer.

        Raises:
            BadCall: there is no such tool, or its parameters are wrong.
            ObservationError, TargetError, DriverError: as the driver refuses or fails.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a provider is told once."""

    approver: Approver
    choice: Choice = field(default_factory=Choice)
    around: Surroundings = field(default_factory=Surroundings)
    admit: Admit = few_each
    approval_s: float = APPROVAL_S
    idle_limit_s: float = IDLE_LIMIT_S


class Provider(Generic[A]):
    """Who may do what, over the browsers that `make` makes."""

    def __init__(self, make: MakeRuntime, tools: Toolset[A], audit: Audit, policy: Policy) -> None:
        self._tools = tools
        self._audit = audit
        self._owners: Owners[OwnedTab] = Owners(policy.admit)
        self._slots = Slots(make)
        self._lanes = Lanes()
        self.authority = Authority(policy.choice, policy.around)
        self._approvals = Approvals(self.authority, policy.approver, policy.approval_s)
        self._changes = Changes(self.authority, self._owners, self._slots, policy.idle_limit_s)

    # ---- sessions ----

    def register(self, bot: Bot, session: str) -> Registration:
        """Make the tools callable in one session of the bot.

        Raises:
            NotAuthorized: the bot's Browser Access is off.
            SessionTaken, ProfileFixed: the session is another bot's; the bot has another profile.
            AxtrialError: its flag cannot be read.
            CleanupRequired: an earlier browser of its profile could not be ended.
        """
        if self._slots.of(bot.profile).blocked:
            raise CleanupRequired("An earlier browser of this profile could not be ended; a person must use Stop.")
        self._changes.forget(session)
        return self.authority.register(bot, session)

    def unregister(self, session: str) -> None:
        """The session is over: what it runs is cancelled, nothing of it is kept, and no ref outlives it."""
        self._changes.forget(session)
        if (registration := self.authority.grants.live(session)) is not None:
            self._end_refs(registration.bot)
        self.authority.unregister(session)

    def set_access(self, bot: str, on: bool) -> None:
        """Set a bot's Browser Access; off cancels what it runs, and ends its refs."""
        if not on:
            self._changes.forget_bot(bot)
            self._end_refs(bot)
        self.authority.set_access(bot, on)

    # ---- one call ----

    async def call(
        self, session: str, tool: str, arguments: Mapping[str, JsonValue], times: CallTimes | None = None
    ) -> A:
        """Carry out one call, or refuse it; exactly one record is made of it. `times` is filled in.

        Raises:
            Refusal: nothing was done, or `input_sent` says what may have been.
            BadCall, MalformedRead, TargetError, DriverError: as the tools raise them.
        """
        times = CallTimes() if times is None else times
        registration = self.authority.grants.live(session)
        bot = NOBODY if registration is None else registration.bot
        known = isinstance(tool, str) and isinstance(arguments, Mapping)
        summary = redact(tool, arguments) if known else ""
        entry = AuditEntry(bot=bot, session=session, tool=tool if known else "", summary=summary)
        with Recorded(self._audit, entry, times):
            if not known:
                raise BadCall("a call is the name of a tool, and an object of its parameters.")
            call = Call(ticket=self.authority.issue(session, tool), times=times, summary=summary)
            try:
                async with until_ended(call.ticket.registration):
                    return await self._in_order(call, arguments)
            except AuthorityChanged as refused:
                refused.input_sent = call.input_begun or refused.input_sent
                raise

    async def _in_order(self, call: Call, arguments: Mapping[str, JsonValue]) -> A:
        ticket, times, bot = call.ticket, call.times, call.ticket.registration.bot
        await self._approvals.granted(ticket, times, call.summary)
        slot = self._slots.of(ticket.scope.key.profile)
        with self.authority.in_use(bot):
            with times.measure("wait_ms"):
                await slot.ready()
            self.authority.check(ticket)
            async with self._turn(ticket, times):
                tabs = BotTabs(call=call, authority=self.authority, owners=self._owners, slot=slot)
                with times.measure("run_ms"), current(call):
                    return await self._run(tabs, arguments)

    @asynccontextmanager
    async def _turn(self, ticket: Ticket, times: CallTimes) -> AsyncIterator[None]:
        lanes: list[Hashable] = [ticket.registration.bot]
        if ticket.scope.key.driver in ONE_LANE and ticket.tool not in TOUCHES_NO_PAGE:
            lanes.append(ticket.scope.key)
        async with AsyncExitStack() as stack:
            with times.measure("wait_ms"):
                for lane in lanes:
                    await stack.enter_async_context(self._lanes.turn(lane, lambda: self.authority.check(ticket)))
            yield

    async def _run(self, tabs: BotTabs, arguments: Mapping[str, JsonValue]) -> A:
        call, ticket = tabs.call, tabs.call.ticket
        try:
            answer = await self._tools.run(tabs, ticket.tool, arguments)
        except (DriverGone, DriverError):
            if call.runtime is not None:  # else none came up
                await self._changes.lost(ticket.scope.key.profile, call.runtime)
            self.authority.check(ticket)
            raise
        except ObservationError:
            self.authority.check(ticket)  # what the authority refuses goes first
            raise
        self.authority.check(ticket)
        if ticket.tool in OBSERVES:
            self.authority.observed(ticket)
        return answer

    # ---- changes ----

    def pause(self, bot: str) -> None:
        """Let the bot only observe; what is queued or in flight refuses, and all its refs end."""
        self.authority.pause(bot)
        self._end_refs(bot)

    def resume(self, bot: str) -> None:
        """Let the bot go on; it must observe before it acts."""
        self.authority.resume(bot)
        self._end_refs(bot)

    async def stop(self, profile: str) -> None:
        """As `Changes.stop`."""
        await self._changes.stop(profile)

    async def switch(self, choice: Choice) -> None:
        """As `Changes.switch`."""
        await self._changes.switch(choice)

    async def idle_tick(self) -> None:
        """As `Changes.idle_tick`."""
        await self._changes.idle_tick()

    async def close(self) -> None:
        """As `Changes.close`."""
        await self._changes.close()

    # ---- requests of a person ----

    def fence(self, bot: str) -> Fence:
        """What a person's request for a frame or the window is made under; `check_fence` when its answer is there."""
        return self.authority.fence(bot)

    def check_fence(self, fence: Fence) -> None:
        """Let a person's answer be shown.

        Raises:
            Revoked: it is late.
        """
        self.authority.check_fence(fence)

    def cleanup_required(self, profile: str) -> bool:
        """Whether a browser of the profile could not be ended, so that a person must use Stop."""
        return self._slots.of(profile).blocked

    def _end_refs(self, bot: str) -> None:
        for owned in self._owners.tabs(bot).values():
            owned.tab.end_refs()


@asynccontextmanager
async def opened(provider: Provider[A], tick_s: float = IDLE_TICK_S) -> AsyncIterator[Provider[A]]:
    """The provider at work: idleness is looked after, and at the end everything is stopped."""

    faults: list[Exception] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(tick_s)
            try:
                await provider.idle_tick()
            except ExceptionGroup as group:  # the next tick tries again; raised in the end, so that it is seen
                faults[:] = group.exceptions

    ticking = asyncio.create_task(tick())

    async def end() -> None:
        ticking.cancel()
        await asyncio.wait({ticking})
        await provider.close()

    try:
        yield provider
    finally:
        await finish(end())
        if not ticking.cancelled():
            ticking.result()
        if faults:
            raise ExceptionGroup("browsers could not be looked after", faults)
