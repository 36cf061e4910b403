"""Takeover: a bot asks for a person, who gets a link that works once and not for long.

No waiting but in `finished`, which is woken by what happens. Of a token only its digest is kept; the token itself
stands in the `Link` that `request` gives back, and goes to the person alone: who has it can end a pause.
"""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from harness.errors import AxtrialError
from observe.errors import Paused

LINK_S = 600.0
"""Seconds in which a link can be used."""

FINISHED_S = 600.0
"""Seconds that one `finished` waits at most, whatever it is asked for."""

TOKEN_BYTES = 32
"""Random bytes of a token: 256 bits, so that no guess comes near."""

MAX_TOKEN_CHARS = 128
"""Above the length of any token of ours; longer ones are not even hashed."""

TakeoverState = Literal["none", "offered", "taken", "released", "expired"]
"""How the latest request of a bot stands. `none`: there was none, or it was ended."""

DEAD = "This link does not work, or does not work any more. Ask for a new one."
TAKEN = "A person has taken over this browser; wait until it is resumed."


class LinkRefused(AxtrialError):
    """The link is unknown, used, expired, replaced or ended; it is not said which."""

    def __init__(self) -> None:
        super().__init__(DEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What the person gets. `expires_at` is a time of the clock of `Takeovers`, in seconds."""

    bot: str
    token: str = field(repr=False)
    expires_at: float


@dataclass(slots=True, kw_only=True, eq=False)
class _Request:
    bot: str
    digest: bytes = field(repr=False)
    expires_at: float
    state: TakeoverState = "offered"
    was_paused: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, state: TakeoverState) -> None:
        """It is over; whoever waits for that goes on."""
        self.state = state
        self.over.set()


def _never(_bot: str) -> bool:
    return False


class Takeovers:
    """The latest request of each bot. `pause` pauses a bot at once; `now` is a clock in seconds, never set back."""

    def __init__(
        self, pause: Callable[[str], None], now: Callable[[], float], is_paused: Callable[[str], bool] = _never
    ) -> None:
        self._pause = pause
        self._now = now
        self._is_paused = is_paused
        self._kept: str | None = None
        self._requests: dict[str, _Request] = {}

    def request(self, bot: str) -> Link:
        """A link for a person to take over the bot's browser; one that the bot had before is dead.

        Raises:
            Paused: a person has taken over just now; no bot can take the browser out of a person's hands.
        """
        if self.status(bot) == "taken":
            raise Paused(TAKEN)
        self.end(bot)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        expires_at = self._now() + LINK_S
        self._requests[bot] = _Request(bot=bot, digest=digest_of(token), expires_at=expires_at)
        return Link(bot=bot, token=token, expires_at=expires_at)

    def redeem(self, token: str) -> str:
        """Use a link: its bot is paused, then it counts as taken; the bot's name.

        Raises:
            LinkRefused: the link does not work.
            Whatever `pause` raises; the link is then not used up.
        """
        return self._take(self._open(token))

    def take(self, bot: str) -> None:
        """Use the bot's open request without its link, as the host's operator may; its link is used up.

        Raises:
            LinkRefused: the bot has no open request.
            Whatever `pause` raises; the request is then still open.
        """
        if self.status(bot) != "offered":
            raise LinkRefused
        self._take(self._requests[bot])

    def is_open(self, token: str) -> bool:
        """Whether `redeem` would take the token now; nothing is used up."""
        try:
            self._open(token)
        except LinkRefused:
            return False
        return True

    def release(self, bot: str) -> None:
        """The person has let go, after Resume; a bot that nobody has taken stays as it is."""
        if (request := self._requests.get(bot)) is not None and request.state == "taken":
            request.end("released")

    def end(self, bot: str) -> None:
        """Stop, revoke, switch: the link is dead, taken or not, and nothing is kept of it."""
        if bot == self._kept:
            return
        if (request := self._requests.pop(bot, None)) is not None:
            request.end("none")

    @contextmanager
    def keeping(self, bot: str | None) -> Iterator[None]:
        """During the block the bot's takeover does not end: its person stops the bot, and may have to do it again."""
        self._kept = bot
        try:
            yield
        finally:
            self._kept = None

    def was_paused(self, bot: str) -> bool:
        """Whether the bot was paused before its person took over: that pause is not the person's to end."""
        request = self._requests.get(bot)
        return request is not None and request.was_paused

    def has_taken(self, bot: str) -> bool:
        """Whether a person has the bot's browser in hand."""
        return self.status(bot) == "taken"

    def status(self, bot: str) -> TakeoverState:
        """How the latest request of the bot stands now."""
        request = self._requests.get(bot)
        return "none" if request is None else self._present(request)

    async def finished(self, bot: str, timeout_s: float) -> TakeoverState:
        """How it stands once the person has let go, or the link has expired, was replaced or ended.

        At the latest after `timeout_s` seconds, of which FINISHED_S count.
        """
        request = self._requests.get(bot)
        if request is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(max(timeout_s, 0.0), FINISHED_S)):
                    await self._until_over(request)
        return self.status(bot)

    async def _until_over(self, request: _Request) -> None:
        while self._present(request) in ("offered", "taken"):
            left_s = request.expires_at - self._now() if request.state == "offered" else None
            with suppress(TimeoutError):  # it may have expired, or was taken meanwhile
                async with asyncio.timeout(left_s):
                    await request.over.wait()

    def _take(self, request: _Request) -> str:
        request.was_paused = self._is_paused(request.bot)
        self._pause(request.bot)
        request.state = "taken"
        return request.bot

    def _present(self, request: _Request) -> TakeoverState:
        if request.state == "offered" and self._now() >= request.expires_at:
            request.end("expired")
        return request.state

    def _open(self, token: str) -> _Request:
        if len(token) > MAX_TOKEN_CHARS:
            raise LinkRefused
        digest = digest_of(token)
        # Every request is compared, so that the time does not tell which of them it was.
        found = [one for one in self._requests.values() if hmac.compare_digest(one.digest, digest)]
        if not found or self._present(found[0]) != "offered":
            raise LinkRefused
        return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTakeovers:
    """Takeovers as a bot's tools may use them: the link goes to a person by `give`, and never back to the bot."""

    takeovers: Takeovers
    give: Callable[[Link], None]

    def offer(self, bot: str) -> None:
        """Make a link and give it to a person; one that is open already stays the one to use.

        Raises:
            Paused: as `Takeovers.request`.
        """
        if self.takeovers.status(bot) == "offered":
            return
        self.give(self.takeovers.request(bot))

    def status(self, bot: str) -> TakeoverState:
        """As `Takeovers.status`."""
        return self.takeovers.status(bot)

    async def finished(self, bot: str, timeout_s: float) -> TakeoverState:
        """As `Takeovers.finished`."""
        return await self.takeovers.finished(bot, timeout_s)


def digest_of(token: str) -> bytes:
    """What is kept of a secret: its SHA-256. Any text has one."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
