"""Who may do what now. All rules in one place and none of the waiting: every method takes effect at once.

A call is issued a ticket, and the ticket is checked again wherever the call has waited. Whatever ends or changes the
authority (pause, stop, switch, access off, idleness) makes the tickets of before refuse.
"""

import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from harness.errors import UsageError, quoted
from harness.host import control
from harness.host.control import Control
from harness.host.grants import Decision, Grants, Pending, Reason, Registration, Status
from harness.host.owners import OwnerWrong, owner_key
from harness.host.scope import ApprovalScope, Bot, Choice, RuntimeKey
from observe.errors import AuthorityChanged, CleanupRequired, NotAuthorized, Paused, ResumedSince, Revoked, Stopped


class SessionTaken(UsageError):
    """The name of a session is in use by another bot."""


class ProfileFixed(UsageError):
    """A bot is registered with another profile than before."""


_SENTENCES: dict[Reason, str] = {
    CleanupRequired: "An earlier browser could not be ended, so nothing is started; a person must use Stop.",
    NotAuthorized: "This session may not use the browser.",
    Paused: "A person has paused this browser; only observe is allowed until it is resumed.",
    ResumedSince: "The browser was paused, or its authority changed, since you observed; observe again.",
    Revoked: "The permission to use this browser has ended.",
    Stopped: "A person has stopped this browser.",
}


def refusal(reason: Reason) -> AuthorityChanged:
    """The refusal of that kind, with its sentence."""
    return reason(_SENTENCES[reason])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a call was issued under. `control` is the bot's control revision then."""

    registration: Registration
    scope: ApprovalScope
    control: int
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """What a person's request (a preview, the window) was made under; its late answer is checked against it."""

    bot: str
    key: RuntimeKey
    revision: int
    invalidation: int


@dataclass(slots=True, kw_only=True)
class _BotState:
    bot: Bot
    last_used: float
    control: Control = field(default_factory=Control)
    active: int = 0


class Person(Protocol):
    """Who may have a bot's browser in hand; harness.host.takeover knows."""

    def has_taken(self, bot: str) -> bool:
        """Whether a person works in the bot's browser now."""
        ...

    def release(self, bot: str) -> None:
        """The bot was resumed."""
        ...

    def end(self, bot: str) -> None:
        """The bot's authority ended, and with it whatever a person has of it."""
        ...


class Nobody:
    """No person."""

    def has_taken(self, bot: str) -> bool:
        """Never."""
        return False

    def release(self, bot: str) -> None:
        """Nothing to do."""

    def end(self, bot: str) -> None:
        """Nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the authority knows of the world.

    `access` is the durable flag Browser Access by bot, off where it is absent; `clock` gives seconds.
    """

    access: MutableMapping[str, bool] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    person: Person = field(default_factory=Nobody)


class Authority:
    """The state."""

    def __init__(self, choice: Choice, around: Surroundings) -> None:
        self.choice = choice
        self.revision = 0
        self.grants = Grants()
        self._access = around.access
        self._clock = around.clock
        self._person = around.person
        self._bots: dict[str, _BotState] = {}
        self._sessions: dict[str, str] = {}  # whose each is, until it is over
        self._closed = False

    # ---- access and registration ----

    def register(self, bot: Bot, session: str) -> Registration:
        """A new registration of the bot's session; an older one of the same session is replaced, and ends.

        Raises:
            Stopped: the host is being closed.
            OwnerWrong: the bot's name cannot be that of an owner.
            NotAuthorized: the bot's Browser Access is off.
            SessionTaken: a session of this name is another bot's.
            ProfileFixed: the bot is known with another profile.
        """
        if self._closed:
            raise refusal(Stopped)
        if owner_key(bot.name) != bot.name:
            raise OwnerWrong(f"the bot {quoted(bot.name)} has blanks around its name")
        if not self._access.get(bot.name, False):
            raise refusal(NotAuthorized)
        state = self._bots.setdefault(bot.name, _BotState(bot=bot, last_used=self._clock()))
        if state.bot != bot:
            fixed = quoted(state.bot.profile)
            raise ProfileFixed(f"the bot {quoted(bot.name)} keeps the profile {fixed} until the host ends")
        if self._sessions.setdefault(session, bot.name) != bot.name:
            raise SessionTaken(f"the session {quoted(session)} is another bot's; take another name")
        return self.grants.register(bot.name, session, Revoked)

    def unregister(self, session: str) -> None:
        """The session is over."""
        bot = self._sessions.pop(session, None)
        self.grants.end(session, Revoked)
        if bot is not None and not self.grants.sessions(bot):
            self._person.end(bot)
        self.grants.forget(session)

    def set_access(self, bot: str, on: bool) -> None:
        """Set the flag; switching it off ends all that the bot has, also where the flag cannot be kept."""
        if not on and bot in self._bots:
            self.end_bot(bot, Revoked)
        self._access[bot] = on

    # ---- what ends or changes the authority ----

    def end_bot(self, bot: str, reason: Reason) -> None:
        """End the bot's registrations, grants and rule; late answers to its person are dropped."""
        state = self._bots[bot]
        state.control = control.invalidate(state.control)
        self.grants.drop_rule(bot)
        for session in self.grants.sessions(bot):
            self.grants.end(session, reason)
        self._person.end(bot)

    def end_profile(self, profile: str, reason: Reason) -> None:
        """The same for every bot on the profile."""
        for bot in self.bots(profile):
            self.end_bot(bot, reason)

    def choose(self, choice: Choice) -> tuple[Registration, ...]:
        """Another target or driver: everything ends and pauses are undone; the registrations that were live."""
        self.choice = choice
        self.revision += 1
        ended: list[Registration] = []
        for name, state in self._bots.items():
            live = [self.grants.live(session) for session in self.grants.sessions(name)]
            ended += [one for one in live if one is not None]
            self.end_bot(name, Revoked)
            state.control = control.reset(state.control)
        return tuple(ended)

    def close(self) -> None:
        """The host ends: nobody may do anything any more."""
        self._closed = True
        for bot in self._bots:
            self.end_bot(bot, Stopped)

    def pause(self, bot: str) -> None:
        """Let the bot only observe."""
        self._bots[bot].control = control.pause(self._bots[bot].control)

    def resume(self, bot: str) -> None:
        """Let the bot go on, after a fresh observation."""
        self._bots[bot].control = control.resume(self._bots[bot].control)
        self._person.release(bot)

    # ---- calls ----

    def issue(self, session: str, tool: str) -> Ticket:
        """A ticket for one call.

        Raises:
            NotAuthorized, Revoked, Stopped: the session has no registration.
            Revoked: the bot's Browser Access was switched off, be it by another process.
        """
        registration = self.grants.live(session)
        if registration is not None and not self._access.get(registration.bot, False):
            self.end_bot(registration.bot, Revoked)
            registration = None
        if registration is None:
            raise refusal(self.grants.reason(session) or NotAuthorized)
        now = self._bots[registration.bot].control
        scope = self.scope(registration)
        return Ticket(registration=registration, scope=scope, control=now.revision, tool=tool)

    def check(self, ticket: Ticket) -> None:
        """Let a call go on, or not.

        Raises:
            Revoked, Stopped: its registration has ended.
            NotAuthorized: it is not allowed.
            Paused, ResumedSince: the control changed, or a fresh observation is needed.
        """
        if (ended := ticket.registration.ended) is not None:
            raise refusal(ended)
        if self.status(ticket) != "granted":
            raise refusal(NotAuthorized)
        now = self._bots[ticket.registration.bot].control
        if (reason := control.refusal(now, ticket.control, ticket.tool)) is not None:
            raise refusal(reason)

    def observed(self, ticket: Ticket) -> None:
        """The call was an observation and ended well."""
        state = self._bots[ticket.registration.bot]
        state.control = control.observed(state.control, ticket.control)

    @contextmanager
    def in_use(self, bot: str) -> Iterator[None]:
        """The bot is not idle during the block."""
        state = self._bots[bot]
        state.active += 1
        state.last_used = self._clock()
        try:
            yield
        finally:
            state.active -= 1
            state.last_used = self._clock()

    # ---- approvals ----

    def scope(self, registration: Registration) -> ApprovalScope:
        """What an approval of this registration covers now."""
        key = self.key(registration.bot)
        return ApprovalScope(key=key, revision=self.revision, registration=registration.number)

    def status(self, ticket: Ticket) -> Status:
        """What was answered for the ticket's scope, if that is still the present one."""
        registration = ticket.registration
        if self.grants.live(registration.session) is not registration or self.scope(registration) != ticket.scope:
            return "unasked"
        return self.grants.status(registration.session, ticket.scope)

    def answer(self, pending: Pending, decision: Decision) -> bool:
        """Take a person's or a policy's answer; False: too late, it grants nothing."""
        registration = self.grants.live(pending.session)
        now = None if registration is None else self.scope(registration)
        return self.grants.answer(pending, decision, now)

    # ---- requests of a person ----

    def fence(self, bot: str) -> Fence:
        """What a person's request is made under."""
        invalidation = self._bots[bot].control.invalidation
        return Fence(bot=bot, key=self.key(bot), revision=self.revision, invalidation=invalidation)

    def check_fence(self, fence: Fence) -> None:
        """Let the answer to a person's request be shown.

        Raises:
            Revoked: it is late: the bot was stopped, revoked, closed or switched meanwhile.
        """
        if self.fence(fence.bot) != fence:
            raise refusal(Revoked)

    # ---- what is known ----

    def bots(self, profile: str) -> tuple[str, ...]:
        """The bots on a profile."""
        return tuple(name for name, state in self._bots.items() if state.bot.profile == profile)

    def known(self) -> tuple[Bot, ...]:
        """The bots that have registered once, oldest first."""
        return tuple(state.bot for state in self._bots.values())

    def bot(self, name: str) -> Bot:
        """A bot that has registered once."""
        return self._bots[name].bot

    def control(self, bot: str) -> Control:
        """The bot's control state."""
        return self._bots[bot].control

    def key(self, bot: str) -> RuntimeKey:
        """The browser of a bot by the present choice."""
        return self.choice.key(self._bots[bot].bot.profile)

    def is_idle(self, bot: str, limit_s: float) -> bool:
        """Whether the bot has no call under way and had none for so long, and no person has it in hand."""
        state = self._bots[bot]
        if self._person.has_taken(bot):
            state.last_used = self._clock()
        return state.active == 0 and self._clock() - state.last_used >= limit_s
