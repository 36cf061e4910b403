"""One call while it is carried out: its ticket, its record, its times, and its end when the registration ends."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from harness.errors import AxtrialError, DriverError, TargetError
from harness.host.audit import AuditEntry, AuditError
from harness.host.authority import Ticket, refusal
from harness.host.grants import Registration
from harness.host.runtime import Runtime
from harness.host.stages import Stages
from observe.errors import AuthorityChanged, MalformedRead, NotRecorded, ObservationError, Refusal

NOT_RECORDED = "The call could not be recorded, so it was refused."


class BadCall(Exception):
    """A call of an unknown tool, or with wrong parameters: the bot's fault."""


class Audit(Protocol):
    """Where calls are recorded; harness.host.audit keeps them in a file. Both raise AuditError."""

    def begin(self, entry: AuditEntry) -> int:
        """Record a call before it is made; its number."""
        ...

    def end(self, number: int, outcome: str, duration_ms: float, error: str | None = None) -> None:
        """Complete the record."""
        ...


@dataclass(slots=True)
class CallTimes:
    """Where the time of one call went, in milliseconds.

    `approval_ms` is None where no approval was waited for. `wait_ms` is that for cleanup and for the queue, `run_ms`
    that of the tool itself, whose own stages are in `stages`.
    """

    approval_ms: float | None = None
    wait_ms: float = 0.0
    run_ms: float = 0.0
    total_ms: float = 0.0
    stages: Stages = field(default_factory=Stages)

    @property
    def authority_ms(self) -> float:
        """What the authority itself took, its record included."""
        return self.total_ms - (self.approval_ms or 0.0) - self.wait_ms - self.run_ms

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the block's wall time to one of the fields, also where it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, part, (getattr(self, part) or 0.0) + (time.perf_counter() - start) * 1000)


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """A call that has its ticket. `input_begun`: input may have reached the page. `runtime` is the one it used.

    `summary` is that of its record.
    """

    ticket: Ticket
    times: CallTimes = field(default_factory=CallTimes)
    summary: str = ""
    input_begun: bool = False
    runtime: Runtime | None = None


CURRENT: ContextVar[Call | None] = ContextVar("current_call", default=None)
"""The call in whose name this task works. Tasks that it starts work in its name too."""


@contextmanager
def current(call: Call) -> Iterator[None]:
    """Work in the name of `call`."""
    token = CURRENT.set(call)
    try:
        yield
    finally:
        CURRENT.reset(token)


@asynccontextmanager
async def until_ended(registration: Registration) -> AsyncIterator[None]:
    """Cancel the block as soon as the registration ends; its end goes before any other refusal.

    Raises:
        Revoked, Stopped: the registration has ended.
    """
    bound = asyncio.timeout(None)
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        bound.reschedule(loop.time())

    try:
        async with bound:
            registration.interrupts.add(interrupt)
            try:
                yield
            finally:
                registration.interrupts.discard(interrupt)
    except (TimeoutError, ObservationError, AxtrialError, BadCall):
        if registration.ended is None:
            raise
    if registration.ended is not None:
        raise refusal(registration.ended)


@dataclass(slots=True)
class Recorded:
    """One record for the block, whatever happens in it. It stands before the block begins, with the outcome `begun`.

    Raises:
        NotRecorded: on entry, nothing was recorded, and the block is not run; on leaving, the record stays `begun`
            and what the block gave is withheld.
    """

    audit: Audit
    entry: AuditEntry
    times: CallTimes
    _number: int = 0
    _start: float = field(default_factory=time.perf_counter)

    def __enter__(self) -> Self:
        try:
            self._number = self.audit.begin(self.entry)
        except AuditError as error:
            raise NotRecorded(NOT_RECORDED) from error
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        worked_ms = (time.perf_counter() - self._start) * 1000 - (self.times.approval_ms or 0.0)
        try:
            self.audit.end(self._number, outcome_of(error), worked_ms, sentence_of(error))
        except AuditError as fault:
            if error is None or isinstance(error, ObservationError | BadCall | AxtrialError):
                sent = True if error is None else getattr(error, "input_sent", None)
                raise NotRecorded(NOT_RECORDED, input_sent=sent) from fault
        finally:
            self.times.total_ms = (time.perf_counter() - self._start) * 1000


def outcome_of(error: BaseException | None) -> str:
    """The outcome of a call, for its record."""
    match error:
        case None:
            return "ok"
        case Refusal():
            return error.kind
        case MalformedRead():
            return "malformed_read"
        case BadCall():
            return "bad_call"
        case asyncio.CancelledError():
            return "cancelled"
        case TargetError():
            return "target_failed"
        case DriverError():
            return "driver_failed"
        case _:
            return "fault"


def sentence_of(error: BaseException | None) -> str | None:
    """What the record says of an error: a sentence of ours, in which no page can have put a word."""
    match error:
        case None:
            return None
        case AuthorityChanged():
            return error.message
        case ObservationError() | BadCall() | AxtrialError():
            return (type(error).__doc__ or "").split("\n\n")[0]
        case asyncio.CancelledError():
            return "The caller cancelled the call."
        case _:
            return "A fault of the host."
