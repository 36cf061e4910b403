"""What every request of a person's browser must pass, whatever it asks for, and the sessions behind its cookies.

The pages stand on loopback, where any page of any site can send requests to. So: only our own address as Host (no
foreign name that resolves to it), only our own Origin where something changes, no frame, no script, nothing kept.
"""

import asyncio
import contextlib
import hmac
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.host.takeover import TOKEN_BYTES, Takeovers, digest_of

READ_METHODS = frozenset({"GET", "HEAD"})
"""These change nothing here, so that previews of links and prefetching browsers may come."""

MAX_CONNECTIONS = 64
"""Connections of browsers at once; one person's takes half a dozen."""

STOP_S = 2
"""Seconds that open requests get when the server stops; then they are cancelled. A Stop under way goes on without."""

HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # With `no-referrer` browsers send `Origin: null` with our own forms, and no Origin could be checked.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Gate:
    """An application behind the checks. `address` is `127.0.0.1:PORT`; `style` the source of the only style let in."""

    def __init__(self, app: ASGIApp, address: str, style: str) -> None:
        self._app = app
        self._host = address.encode()
        self._origin = b"http://" + self._host
        policy = f"default-src 'none'; style-src {style}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        headers = {**HEADERS, "content-security-policy": policy}
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        refused = self._refusal(scope)
        app = self._app if refused is None else PlainTextResponse(refused, 403)
        await app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> str | None:
        def given(wanted: bytes) -> list[bytes]:
            return [value for name, value in scope["headers"] if name == wanted]

        if given(b"host") != [self._host]:
            return "This host answers only to its own address."
        if scope["method"] not in READ_METHODS and given(b"origin") != [self._origin]:
            return "This request does not come from a page of this host."
        return None


class Sessions:
    """Who a cookie stands for: the operator, or the person who has taken over one bot. Only digests are kept."""

    def __init__(self, takeovers: Takeovers) -> None:
        self._takeovers = takeovers
        self._operator_link: bytes | None = None
        self._operator: bytes | None = None
        self._persons: dict[str, bytes] = {}

    def operator_token(self) -> str:
        """A new token that makes one browser the operator's; an earlier one that was not used is dead."""
        token, self._operator_link = _secret()
        return token

    def is_operator_token(self, token: str) -> bool:
        """Whether `enter` would take it now."""
        return _same(self._operator_link, token)

    def enter(self, token: str) -> str | None:
        """Use the operator's token up: the cookie; None: it does not work, or not any more."""
        if not self.is_operator_token(token):
            return None
        self._operator_link = None
        cookie, self._operator = _secret()
        return cookie

    def is_operator(self, cookie: str | None) -> bool:
        """Whether the cookie is that of the operator."""
        return _same(self._operator, cookie)

    def take(self, bot: str) -> str:
        """A session for the person who has just taken the bot over: the cookie."""
        cookie, self._persons[bot] = _secret()
        return cookie

    def bot_of(self, cookie: str | None) -> str | None:
        """The bot that the cookie's person has in hand; None: not any more, or no such person."""
        found = [bot for bot, digest in self._persons.items() if _same(digest, cookie)]
        return found[0] if found and self._takeovers.status(found[0]) == "taken" else None

    def leave(self, bot: str) -> None:
        """The person has let go."""
        self._persons.pop(bot, None)


@asynccontextmanager
async def served(make: Callable[[int], ASGIApp]) -> AsyncIterator[int]:
    """Serve what `make` makes for a port, on that free port of 127.0.0.1, in the running loop, until the block ends.

    Raises:
        OSError: no port can be opened.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=MAX_CONNECTIONS) as listener:
        port: int = listener.getsockname()[1]
        server = _QuietServer(
            uvicorn.Config(
                make(port),
                lifespan="off",
                ws="none",
                log_config=None,
                log_level="critical",
                access_log=False,  # addresses hold tokens
                server_header=False,
                proxy_headers=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=STOP_S,
            )
        )
        # Requests that come before the server runs wait in the listener's backlog.
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="pages for the person")
        try:
            yield port
        finally:
            server.should_exit = True
            await _ended(serving)


async def _ended(serving: "asyncio.Task[None]") -> None:
    """Wait for the server's end, which it bounds by STOP_S itself, also while being cancelled: no socket is left."""
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        await asyncio.wait({serving})
        raise


class _QuietServer(uvicorn.Server):
    """Leaves the process's signals to the command line, which owns them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _secret() -> tuple[str, bytes]:
    token = secrets.token_urlsafe(TOKEN_BYTES)
    return token, digest_of(token)


def _same(digest: bytes | None, given: str | None) -> bool:
    return hmac.compare_digest(digest or b"", digest_of(given or "")) and digest is not None
