"""A direct websocket to the Chrome DevTools Protocol: commands with bounded waits, and events.

Source: Chrome DevTools Protocol, "flat" session mode. Kept apart from Playwright because its relay decodes and encodes
every reply again, which about doubles the cost of a large accessibility tree.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

Json = dict[str, Any]
EventHandler = Callable[[Json, str | None], None]
Answer = asyncio.Future[Json]
"""The result of a posted command; CdpError where Chrome refused it, CdpClosed where the websocket closed."""


class Command(NamedTuple):
    """A method of the protocol and its parameters."""

    method: str
    params: Json


MAX_MESSAGE_BYTES = 512 * 1024 * 1024
"""A 50,000-node tree is about 40 MB; beyond this bound the reply is a fault, not a page."""

CONNECT_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 30.0
"""Default bound of one command; a full tree of a very large page gets its own."""


class CdpError(Exception):
    """Chrome refused a command. `text` may quote the page, so it never leaves the driver."""

    def __init__(self, method: str, text: str) -> None:
        super().__init__(method)
        self.method = method
        self.text = text


class CdpClosed(Exception):
    """The websocket is closed: the tab or the browser went away."""


class CdpTimeout(Exception):
    """A command got no answer within its bound."""


def decode(message: str | bytes) -> Json:
    """One protocol message; lone surrogates, which a page can put into any text, become U+FFFD."""
    try:
        decoded: Json = orjson.loads(message)
    except orjson.JSONDecodeError:
        text = message if isinstance(message, str) else message.decode("utf-8", "replace")
        decoded = _without_lone_surrogates(json.loads(text))
    return decoded


def _without_lone_surrogates(value: Any) -> Any:
    # Recursion is bounded by the JSON decoder, which has already followed the same nesting.
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_lone_surrogates(item) for key, item in value.items()}
    return value


class CdpConnection:
    """One websocket. Opened by `open_cdp`; a call after its end raises CdpClosed."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last_id = 0
        self._pending: dict[int, tuple[str, asyncio.Future[Json]]] = {}
        self._handlers: dict[str, list[EventHandler]] = {}
        self._at_end: list[Callable[[], None]] = []
        self.closed = asyncio.Event()

    def on(self, method: str, handler: EventHandler) -> None:
        """Call `handler(params, session_id)` for every event `method`, in the order of arrival."""
        self._handlers.setdefault(method, []).append(handler)

    def at_end(self, handler: Callable[[], None]) -> None:
        """Call `handler()` once the websocket is closed."""
        self._at_end.append(handler)

    @contextmanager
    def heard(self, method: str, handler: EventHandler) -> Iterator[None]:
        """As `on`, for as long as the block runs."""
        self.on(method, handler)
        try:
            yield
        finally:
            self._handlers[method].remove(handler)

    async def send(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> Json:
        """The result of one command.

        Raises:
            CdpError: Chrome answered with an error.
            CdpClosed: the websocket is closed, or closed meanwhile.
            CdpTimeout: no answer within `timeout_s` seconds; the command may still be carried out.
        """
        try:
            async with asyncio.timeout(timeout_s):
                (answer,) = await self.post([Command(method, dict(params or {}))], session=session)
                return await answer
        except TimeoutError as error:
            raise CdpTimeout(method) from error

    async def post(self, commands: Iterable[Command], *, session: str | None = None) -> list[Answer]:
        """Send commands right behind one another, and do not wait for what comes of them.

        Chrome carries out the commands of one session in this order, though it may answer some of them later.

        Raises:
            CdpClosed: the websocket is closed; with it end the answers that are waited for.
        """
        answers: list[Answer] = []
        for method, params in commands:
            if self.closed.is_set():
                raise CdpClosed(method)
            self._last_id += 1
            message: Json = {"id": self._last_id, "method": method, "params": params}
            if session is not None:
                message["sessionId"] = session
            answer: Answer = asyncio.get_running_loop().create_future()
            answer.add_done_callback(_looked_at)
            self._pending[self._last_id] = (method, answer)
            answers.append(answer)
            try:
                await self._socket.send(orjson.dumps(message), text=True)
            except ConnectionClosed as error:
                raise CdpClosed(method) from error
        return answers

    async def close(self) -> None:
        """Close the websocket; harmless a second time."""
        await self._socket.close()

    def fail_pending(self, error: Exception) -> None:
        """End every waiting command with `error`; their late answers are dropped."""
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(error)

    async def _read(self) -> None:
        try:
            while True:
                self._dispatch(decode(await self._socket.recv(decode=False)))
        except ConnectionClosed:
            pass
        finally:
            self.closed.set()
            self.fail_pending(CdpClosed("connection"))
            for handler in self._at_end:
                handler()

    def _dispatch(self, message: Json) -> None:
        number = message.get("id")
        if number is None:
            for handler in tuple(self._handlers.get(message.get("method", ""), ())):
                handler(message.get("params", {}), message.get("sessionId"))
            return
        method, future = self._pending.pop(number, ("", None))
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(CdpError(method, str(message["error"].get("message", ""))))
        else:
            future.set_result(message.get("result", {}))


def _looked_at(answer: Answer) -> None:
    """A posted command's error is nobody's where nobody waits for it any more."""
    if not answer.cancelled():
        answer.exception()


async def answered(answers: Iterable[Answer], timeout_s: float = COMMAND_TIMEOUT_S) -> list[Json]:
    """The results of posted commands.

    Raises:
        CdpError, CdpClosed: the first of them that failed so.
        CdpTimeout: they did not all come within `timeout_s` seconds.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return [await answer for answer in answers]
    except TimeoutError as error:
        raise CdpTimeout("posted") from error


@asynccontextmanager
async def open_cdp(address: str) -> AsyncIterator[CdpConnection]:
    """A connection to `address` (ws://127.0.0.1:.../devtools/page/ID or .../browser/UUID).

    Raises:
        CdpClosed: nothing answers there within CONNECT_TIMEOUT_S, or the address is unknown to Chrome.
    """
    try:
        socket = await connect(
            address,
            max_size=MAX_MESSAGE_BYTES,
            compression=None,
            ping_interval=None,
            open_timeout=CONNECT_TIMEOUT_S,
            close_timeout=1,
            proxy=None,
        )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
        raise CdpClosed("connect") from error
    connection = CdpConnection(socket)
    reader = asyncio.create_task(connection._read())
    try:
        yield connection
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        await asyncio.shield(socket.close())
