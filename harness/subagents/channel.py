"""The event channel inside the parent: who asks for a browser tool, and who answers, know only its messages."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue, ValidationError

from harness.finish import finish
from harness.subagents.messages import (
    CANCEL,
    REQUEST,
    RESULT,
    BrowserCancel,
    BrowserRequest,
    BrowserResult,
    failed,
)
from harness.subagents.waits import ABORT_S, channel_s
from harness.tools.verify_params import bound_ms

Handler = Callable[[Mapping[str, JsonValue]], None]


class Channel:
    """Hands each message to all who listen to its topic, at once. A handler must not raise."""

    def __init__(self) -> None:
        self._handlers: dict[str, list[Handler]] = {}

    def subscribe(self, topic: str, handler: Handler) -> None:
        """Listen to a topic."""
        self._handlers.setdefault(topic, []).append(handler)

    def publish(self, topic: str, message: Mapping[str, JsonValue]) -> None:
        """Tell a topic's listeners."""
        for handler in tuple(self._handlers.get(topic, ())):
            handler(message)


class Asker:
    """Asks over a channel. `ignored` counts results that fit no request: malformed, foreign_owner, late."""

    def __init__(self, channel: Channel) -> None:
        self.ignored: Counter[str] = Counter()
        self._channel = channel
        self._pending: dict[str, tuple[str, asyncio.Future[BrowserResult]]] = {}
        channel.subscribe(RESULT, self._on_result)

    async def ask(self, owner: str, tool: str, params: dict[str, JsonValue]) -> BrowserResult:
        """One call's result, whatever happens, within its bound and a margin; a cancelled caller's call is cancelled.

        Raises:
            ValidationError: owner or tool is no text of the form that messages take.
        """
        request = BrowserRequest(request_id=secrets.token_hex(16), owner=owner, tool=tool, params=params)
        answer: asyncio.Future[BrowserResult] = asyncio.get_running_loop().create_future()
        self._pending[request.request_id] = owner, answer
        bound_s = channel_s(bound_ms(tool, params))
        try:
            self._channel.publish(REQUEST, request.wire())
            async with asyncio.timeout(bound_s):
                return await answer
        except TimeoutError:
            self._cancel(request)
            return failed(request, "no_answer", f"{tool} got no answer within {bound_s:g} seconds")
        except asyncio.CancelledError:
            if answer.cancelled():  # else its result has come
                self._pending[request.request_id] = owner, (answer := asyncio.get_running_loop().create_future())
                self._cancel(request)
                await finish(_acknowledged(answer))
            raise
        finally:
            del self._pending[request.request_id]

    def _cancel(self, request: BrowserRequest) -> None:
        self._channel.publish(CANCEL, BrowserCancel(request_id=request.request_id, owner=request.owner).wire())

    def _on_result(self, message: Mapping[str, JsonValue]) -> None:
        try:
            result = BrowserResult.model_validate(message)
        except ValidationError:
            self.ignored["malformed"] += 1
            return
        owner, answer = self._pending.get(result.request_id, ("", None))
        if answer is None or answer.done():
            self.ignored["late"] += 1
        elif result.owner not in (owner, None):
            self.ignored["foreign_owner"] += 1
        else:
            answer.set_result(result)


async def _acknowledged(answer: "asyncio.Future[Any]") -> None:
    """Wait until a cancelled call has ended, for ABORT_S at most."""
    await asyncio.wait({answer}, timeout=ABORT_S)
