"""Asking a person or a policy whether a session may use the browser: once a session, waited for apart from all else.

An answer is taken by the authority, which compares its scope with the present one; here is only the waiting.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from harness.host.authority import Authority, Ticket
from harness.host.calls import CallTimes
from harness.host.grants import Decision, Pending
from harness.host.scope import ApprovalScope
from observe.errors import NotAuthorized

APPROVAL_S = 600.0
"""Seconds in which a person answers; then the call is refused, and a later call asks again."""

DENIED = "The use of the browser was denied for this session."
UNANSWERED = "Nobody allowed the use of the browser in time; try again later."


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What is asked: whether this session of this bot may use the browser of `scope`.

    `tool` is that of its call, and `summary` what the record says of the call's arguments; empty: nothing.
    """

    bot: str
    session: str
    tool: str
    scope: ApprovalScope
    summary: str = ""


class Approver(Protocol):
    """A person, or a policy chosen for a trial."""

    async def ask(self, request: ApprovalRequest) -> Decision:
        """The answer. Cancelled where it does not matter any more; an answer that still comes then grants nothing."""
        ...


class AllowEverySession:
    """The policy of trials: every registered session may use the browser."""

    async def ask(self, request: ApprovalRequest) -> Decision:
        """Yes, for this session."""
        return "once"


class Approvals:
    """The questions that are open, one for each registration."""

    def __init__(self, authority: Authority, approver: Approver, bound_s: float = APPROVAL_S) -> None:
        self._authority = authority
        self._approver = approver
        self._bound_s = bound_s
        self._open: dict[int, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def granted(self, ticket: Ticket, times: CallTimes, summary: str = "") -> None:
        """Return once the ticket's session is allowed; ask, if nobody did yet.

        `summary` is what the record says of the call, as harness.host.redact makes it: a person is shown it.

        Raises:
            NotAuthorized: it was denied, or nobody answered in time.
        """
        if self._authority.status(ticket) == "unasked":
            number = ticket.registration.number
            task = self._open.get(number) or self._begin(ticket, summary)
            with times.measure("approval_ms"):
                await asyncio.wait({task})
            if not task.cancelled():
                task.result()
        match self._authority.status(ticket):
            case "denied":
                raise NotAuthorized(DENIED)
            case "unasked":
                raise NotAuthorized(UNANSWERED)
            case "granted":
                return

    def _begin(self, ticket: Ticket, summary: str) -> asyncio.Task[None]:
        registration = ticket.registration
        pending = self._authority.grants.ask(registration.session, registration.bot, ticket.scope)
        request = ApprovalRequest(
            bot=registration.bot,
            session=registration.session,
            tool=ticket.tool,
            scope=ticket.scope,
            summary=summary,
        )
        task = asyncio.create_task(self._ask(pending, request))
        self._open[registration.number] = task
        registration.interrupts.add(task.cancel)

        def ended(task: asyncio.Task[None]) -> None:
            del self._open[registration.number]
            registration.interrupts.discard(task.cancel)
            if not task.cancelled():
                task.exception()  # whoever asked may have been cancelled meanwhile

        task.add_done_callback(ended)
        return task

    async def _ask(self, pending: Pending, request: ApprovalRequest) -> None:
        try:
            async with asyncio.timeout(self._bound_s):
                decision = await self._approver.ask(request)
        except TimeoutError:
            return
        self._authority.answer(pending, decision)
