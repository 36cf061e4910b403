"""Who is registered, and who was allowed: sessions, their registrations, and the answers to their approvals.

No waiting here. A registration's number is never used again, so that whatever was issued for an ended one fits nothing
that follows it. Every answer counts only for the scope for which it was asked.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from harness.host.scope import ApprovalScope
from observe.errors import AuthorityChanged

Decision = Literal["once", "always", "deny"]
"""`once`: this session. `always`: also later sessions of this bot, until the scope of its browser changes."""

Status = Literal["granted", "denied", "unasked"]
Reason = type[AuthorityChanged]


@dataclass(slots=True, kw_only=True, eq=False)
class Registration:
    """One live entry of a session. `interrupts` are called once, when it ends: its own cancellation."""

    number: int
    bot: str
    session: str
    ended: Reason | None = None
    interrupts: set[Callable[[], object]] = field(default_factory=set)

    def end(self, reason: Reason) -> None:
        """End it for that reason; a second end changes nothing."""
        if self.ended is not None:
            return
        self.ended = reason
        interrupts, self.interrupts = self.interrupts, set()
        for interrupt in interrupts:
            interrupt()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pending:
    """An approval that was asked for and not answered yet; compared by identity."""

    session: str
    bot: str
    scope: ApprovalScope


class Grants:
    """Registrations and answers by session."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._live: dict[str, Registration] = {}
        self._reasons: dict[str, tuple[str, Reason]] = {}  # bot and reason by session, the latest last
        self._answers: dict[str, tuple[Status, ApprovalScope]] = {}
        self._pending: dict[str, Pending] = {}
        self._rules: dict[str, ApprovalScope] = {}

    def register(self, bot: str, session: str, replaced: Reason) -> Registration:
        """A new registration of the session; one that it had ends with the reason `replaced`."""
        self.end(session, replaced)
        self._reasons.pop(session, None)
        registration = Registration(number=next(self._numbers), bot=bot, session=session)
        self._live[session] = registration
        return registration

    def live(self, session: str) -> Registration | None:
        """The session's registration."""
        return self._live.get(session)

    def sessions(self, bot: str) -> tuple[str, ...]:
        """The registered sessions of a bot."""
        return tuple(session for session, one in self._live.items() if one.bot == bot)

    def end(self, session: str, reason: Reason) -> None:
        """End the session's registration, its answer and what it asked; the reason is kept until it is forgotten."""
        registration = self._live.pop(session, None)
        self._answers.pop(session, None)
        self._pending.pop(session, None)
        if registration is not None:
            self._reasons[session] = (registration.bot, reason)
            registration.end(reason)

    def reason(self, session: str) -> Reason | None:
        """Why the session's latest registration ended; None: it has one, or never had one."""
        found = self._reasons.get(session)
        return None if found is None else found[1]

    def latest_end(self, bot: str) -> Reason | None:
        """Why the bot's registration that ended last did so; None: none did, or its session is forgotten."""
        return next((reason for owner, reason in reversed(self._reasons.values()) if owner == bot), None)

    def forget(self, session: str) -> None:
        """The session is over: nothing is kept of it."""
        self._reasons.pop(session, None)

    def drop_rule(self, bot: str) -> None:
        """Later sessions of the bot are asked for again."""
        self._rules.pop(bot, None)

    # ---- approvals ----

    def status(self, session: str, now: ApprovalScope) -> Status:
        """What was answered for this very scope."""
        answered = self._answers.get(session)
        if answered is not None and answered[1] == now:
            return answered[0]
        registration = self._live.get(session)
        rule = None if registration is None else self._rules.get(registration.bot)
        return "granted" if rule is not None and _same_browser(rule, now) else "unasked"

    def ask(self, session: str, bot: str, now: ApprovalScope) -> Pending:
        """Begin to ask for the session; what it asked before is no longer waited for."""
        pending = Pending(session=session, bot=bot, scope=now)
        self._pending[session] = pending
        return pending

    def answer(self, pending: Pending, decision: Decision, now: ApprovalScope | None) -> bool:
        """Take an answer; False: it comes too late, and grants nothing.

        `now` is the session's present scope, None where it has no registration.
        """
        if self._pending.get(pending.session) is not pending:
            return False
        del self._pending[pending.session]
        if pending.scope != now:
            return False
        self._answers[pending.session] = ("denied" if decision == "deny" else "granted", pending.scope)
        if decision == "always":
            self._rules[pending.bot] = pending.scope
        return True


def _same_browser(rule: ApprovalScope, now: ApprovalScope) -> bool:
    """A rule is for a bot, so it outlives the registration for which it was given, and nothing else."""
    return rule.key == now.key and rule.revision == now.revision
