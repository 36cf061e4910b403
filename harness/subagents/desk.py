"""Answers browser:request by the eight tools. All that decides about a call is here, in the parent: the gate, what the
owner holds, the parent's mode, parameters, time; and an owner's page ends with a call that timed out or was aborted.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

from pydantic import JsonValue, ValidationError

from harness.errors import AxtrialError, DriverError, OperationTimedOut, OwnerError, TargetError
from harness.host.pages import ContextClosed, GateOff
from harness.subagents.channel import Channel
from harness.subagents.messages import (
    CANCEL,
    REQUEST,
    RESULT,
    BrowserCancel,
    BrowserRequest,
    BrowserResult,
    ErrorKind,
    Failure,
    Result,
    failed,
)
from harness.subagents.waits import REAP_S
from harness.tools.modes import Allowed, ModeSource, allowed, current_mode
from harness.tools.verify import BadParameters, VerifyTools, checked
from harness.tools.verify_params import TOOLS, bound_ms
from observe.errors import ObservationError, Refusal, TabLimit

Holds = Callable[[str], frozenset[str] | None]
"""The tools that an owner was started with; None: there is no such owner, and nothing is done for it."""


class Forbidden(OwnerError):
    """The owner must not do it now."""


class Desk:
    """Listens to a channel until it is closed. `ignored` counts what got no answer: malformed, replayed."""

    def __init__(self, channel: Channel, tools: VerifyTools, holds: Holds, mode: ModeSource) -> None:
        self.ignored: Counter[str] = Counter()
        self._channel = channel
        self._tools = tools
        self._holds = holds
        self._mode = mode
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        channel.subscribe(REQUEST, self._on_request)
        channel.subscribe(CANCEL, self._on_cancel)

    # ---- messages ----

    def _on_request(self, message: Mapping[str, JsonValue]) -> None:
        try:
            request = BrowserRequest.model_validate(message)
        except ValidationError as error:
            self._malformed(message, error)
            return
        key = request.owner, request.request_id
        if key in self._running:
            self.ignored["replayed"] += 1
            return
        task = asyncio.create_task(self._serve(request))
        self._running[key] = task
        task.add_done_callback(lambda task: self._ended(request, task))

    def _on_cancel(self, message: Mapping[str, JsonValue]) -> None:
        try:
            cancel = BrowserCancel.model_validate(message)
        except ValidationError:
            self.ignored["malformed"] += 1
            return
        task = self._running.get((cancel.owner, cancel.request_id))
        if task is not None and not task.cancelling():  # once: its page is being closed
            task.cancel()

    def _malformed(self, message: Mapping[str, JsonValue], error: ValidationError) -> None:
        """Whoever can be found by the request's id hears the reason at once; nobody else does."""
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        said = Failure(kind="bad_request", message=f"the request is malformed: {where or 'it is no object'}")
        try:
            answer = BrowserResult(request_id=message["requestId"], owner=None, ok=False, error=said)  # type: ignore[arg-type]
        except (ValidationError, KeyError):
            self.ignored["malformed"] += 1
        else:
            self._channel.publish(RESULT, answer.wire())

    def _ended(self, request: BrowserRequest, task: asyncio.Task[None]) -> None:
        """A fault of ours is told to who asked, and to the loop, which shows it."""
        del self._running[request.owner, request.request_id]
        if not task.cancelled() and (fault := task.exception()) is not None:
            answer = failed(request, "failed", f"{request.tool} failed: a fault of the host")
            self._channel.publish(RESULT, answer.wire())
            context = {"message": "a browser request met a fault", "exception": fault, "task": task}
            task.get_loop().call_exception_handler(context)

    # ---- one request ----

    async def _serve(self, request: BrowserRequest) -> None:
        try:
            result = await self._result(request)
        except asyncio.CancelledError:
            await self._reap(request.owner)
            result = failed(request, "aborted", f"{request.tool} aborted")
        self._channel.publish(RESULT, result.wire())

    async def _result(self, request: BrowserRequest) -> BrowserResult:
        tool, bound = request.tool, bound_ms(request.tool, request.params)
        try:
            async with asyncio.timeout(bound / 1000):
                may = self._allowed(request, await current_mode(self._mode))
                params = checked(tool, request.params)
                while self._tools.must_open(request.owner, params, may):
                    await self._tools.pages.open(request.owner)  # takes seconds, in which the mode may change
                    may = self._allowed(request, await current_mode(self._mode))
                told = await self._tools.run(request.owner, params, may)
        except Forbidden as error:
            return failed(request, "refused", f"{tool} refused: {error.message}")
        except (TimeoutError, OperationTimedOut):
            await self._reap(request.owner)
            return failed(request, "timed_out", f"{tool} timed out after {bound} milliseconds")
        except (AxtrialError, ObservationError) as error:
            return failed(request, _kind(error), f"{tool} failed: {_sentence(error)}")
        result = Result(text=told.text, details=told.details)
        return BrowserResult(request_id=request.request_id, owner=request.owner, ok=True, result=result)

    def _allowed(self, request: BrowserRequest, mode: str | None) -> Allowed:
        """What the owner may do, asked after the last wait before the tool begins.

        Raises:
            Forbidden: not this.
        """
        if (held := self._holds(request.owner)) is None:
            raise Forbidden("unknown owner, or its run has ended")
        if not self._tools.pages.on:
            raise Forbidden("browser access is off")
        may, tool = allowed(mode, held), request.tool
        if tool in TOOLS and tool not in may.tools:
            known = tool in held
            raise Forbidden(f"not allowed in the mode {may.mode}" if known else "not among this owner's tools")
        return may

    async def _reap(self, owner: str) -> None:
        await self._tools.pages.reap(owner, REAP_S)

    async def close(self) -> None:
        """End all that runs."""
        running = tuple(self._running.values())
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)


def _kind(error: AxtrialError | ObservationError) -> ErrorKind:
    match error:
        case BadParameters():
            return "bad_request"
        case GateOff() | ContextClosed() | TabLimit():
            return "refused"
        case _:
            return "failed"


def _sentence(error: AxtrialError | ObservationError) -> str:
    """What a model is told: our own sentences, in which page text is quoted; nothing of a driver's fault."""
    match error:
        case OwnerError() | Refusal():
            return error.message
        case TargetError():
            return "no browser could be started"
        case DriverError():
            return "the browser cannot be spoken to"
        case _:
            return "a fault of the host"
