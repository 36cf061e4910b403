"""The pages for the person at a local host: answering bots' questions, Pause, Resume, Stop, and taking over one bot.

Plain forms on loopback, no script. Two kinds of session, each begun by a link that works once: the operator's sees
every bot, that of a takeover its one bot. All that the pages show is read anew, and the provider alone decides.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from harness.host.grants import Decision
from harness.host.human_desk import Desk, HumanApprover
from harness.host.human_gate import Gate, Sessions, served
from harness.host.human_pages import Notice, Pages, bot_key
from harness.host.provider import Provider
from harness.host.scope import Bot
from harness.host.takeover import Link, LinkRefused, Takeovers

__all__ = ["HumanApprover", "HumanSite", "serve_human"]

DECISIONS: Mapping[str, Decision] = {"once": "once", "always": "always", "deny": "deny"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanSite:
    """The pages while they are served. `address` ends in a slash; the operator's link works once."""

    address: str
    operator_link: str = field(repr=False)

    def takeover_link(self, link: Link) -> str:
        """The address under which a person uses a takeover's link."""
        return f"{self.address}takeover/{link.token}"


@asynccontextmanager
async def serve_human(
    provider: Provider[Any], takeovers: Takeovers, approver: HumanApprover, bots: Callable[[], Sequence[Bot]]
) -> AsyncIterator[HumanSite]:
    """Serve the pages on 127.0.0.1, on a free port, in the running loop, until the block ends.

    `bots` gives those that the operator sees, at each look.

    Raises:
        OSError: no port can be opened.
    """
    sessions = Sessions(takeovers)
    pages = Pages()

    def made(port: int) -> ASGIApp:
        desk = Desk(provider=provider, takeovers=takeovers, approver=approver, bots=bots)
        return Gate(_application(_Handlers(desk, sessions, pages, port)), f"127.0.0.1:{port}", pages.style_source)

    async with served(made) as port:
        address = f"http://127.0.0.1:{port}/"
        yield HumanSite(address=address, operator_link=f"{address}operator/{sessions.operator_token()}")


class _Handlers:
    """The requests that the pages answer."""

    def __init__(self, desk: Desk, sessions: Sessions, pages: Pages, port: int) -> None:
        self._desk = desk
        self._sessions = sessions
        self._pages = pages
        # Cookies know no ports: another host's pages on this machine must not overwrite ours.
        self._operator_cookie = f"axtrial-operator-{port}"
        self._person_cookie = f"axtrial-takeover-{port}"

    # ---- links that work once: looking at one does not use it up, its button does ----

    async def operator_link(self, request: Request) -> Response:
        """The operator's link."""
        if not self._sessions.is_operator_token(request.path_params["token"]):
            return self._pages.notice("dead_link")
        return self._pages.link("operator")

    async def enter(self, request: Request) -> Response:
        """Its button."""
        cookie = self._sessions.enter(request.path_params["token"])
        if cookie is None:
            return self._pages.notice("dead_link")
        return _to("/", (self._operator_cookie, cookie))

    async def takeover_link(self, request: Request) -> Response:
        """A takeover's link."""
        if not self._desk.takeovers.is_open(request.path_params["token"]):
            return self._pages.notice("dead_link")
        return self._pages.link("takeover")

    async def take_over(self, request: Request) -> Response:
        """Its button."""
        try:
            bot = self._desk.takeovers.redeem(request.path_params["token"])
        except LinkRefused:
            return self._pages.notice("dead_link")
        return _to("/bot", (self._person_cookie, self._sessions.take(bot)))

    # ---- the operator ----

    async def overview(self, request: Request) -> Response:
        """All bots and questions."""
        if not self._is_operator(request):
            return self._pages.notice("forbidden")
        bots = [self._desk.view(bot) for bot in self._desk.bots()]
        asked = self._desk.approver.waiting()
        stopped = request.query_params.get("stopped")
        return self._pages.overview(bots, asked, still="still" in request.query_params, stopped=stopped)

    async def answer(self, request: Request) -> Response:
        """A button of a question."""
        if not self._is_operator(request):
            return self._pages.notice("forbidden")
        decision = DECISIONS.get(request.path_params["decision"])
        if decision is None:
            return self._pages.notice("nothing")
        in_time = self._desk.approver.answer(request.path_params["number"], decision)
        return _to("/") if in_time else self._pages.notice("late")

    async def control(self, request: Request) -> Response:
        """A button of a bot."""
        if not self._is_operator(request):
            return self._pages.notice("forbidden")
        bot = next((one for one in self._desk.bots() if bot_key(one.name) == request.path_params["key"]), None)
        action = request.path_params["action"]
        if bot is None or action not in ("pause", "resume", "stop", "takeover"):
            return self._pages.notice("nothing")
        if action == "stop":
            gone = await self._desk.stop(bot.profile)
            return _to(f"/?stopped={bot_key(bot.name)}") if gone else self._pages.notice("cleanup")
        if not self._desk.is_used(bot):
            return self._pages.notice("unused")
        if action == "takeover":
            return self._take_over_for_operator(bot)
        if action == "pause":
            self._desk.provider.pause(bot.name)
        else:
            self._desk.resume(bot.name)
        return _to("/")

    # ---- the person who has taken over one bot ----

    async def bot(self, request: Request) -> Response:
        """That bot."""
        bot = self._bot_in_hand(request)
        return self._pages.notice("forbidden") if bot is None else self._pages.bot(self._desk.view(bot))

    async def resume(self, request: Request) -> Response:
        """Its button Resume: the person lets go."""
        if (bot := self._bot_in_hand(request)) is None:
            return self._pages.notice("forbidden")
        self._desk.let_go(bot.name)
        return self._left(request, bot, "released")

    async def stop(self, request: Request) -> Response:
        """Its button Stop."""
        if (bot := self._bot_in_hand(request)) is None:
            return self._pages.notice("forbidden")
        if not await self._desk.stop(bot.profile, kept=bot.name):
            return self._pages.notice("cleanup", back="/bot")
        return self._left(request, bot, "stopped")

    async def nothing(self, _request: Request, _error: Exception) -> Response:
        """Any other address or method."""
        return self._pages.notice("nothing")

    def _take_over_for_operator(self, bot: Bot) -> Response:
        try:
            self._desk.takeovers.take(bot.name)
        except LinkRefused:
            return self._pages.notice("not_offered")
        return _to("/bot", (self._person_cookie, self._sessions.take(bot.name)))

    def _is_operator(self, request: Request) -> bool:
        return self._sessions.is_operator(request.cookies.get(self._operator_cookie))

    def _bot_in_hand(self, request: Request) -> Bot | None:
        name = self._sessions.bot_of(request.cookies.get(self._person_cookie))
        return None if name is None else self._desk.provider.authority.bot(name)

    def _left(self, request: Request, bot: Bot, notice: Notice) -> Response:
        self._sessions.leave(bot.name)
        response = self._pages.notice(notice, back="/" if self._is_operator(request) else None)
        response.delete_cookie(self._person_cookie, path="/bot", httponly=True, samesite="strict")
        return response


def _application(handlers: _Handlers) -> Starlette:
    routes = [
        Route("/", handlers.overview),
        Route("/operator/{token}", handlers.operator_link),
        Route("/operator/{token}", handlers.enter, methods=["POST"]),
        Route("/takeover/{token}", handlers.takeover_link),
        Route("/takeover/{token}", handlers.take_over, methods=["POST"]),
        Route("/approvals/{number}/{decision}", handlers.answer, methods=["POST"]),
        Route("/bots/{key}/{action}", handlers.control, methods=["POST"]),
        Route("/bot", handlers.bot),
        Route("/bot/resume", handlers.resume, methods=["POST"]),
        Route("/bot/stop", handlers.stop, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: handlers.nothing})
    app.router.redirect_slashes = False  # what is not there is 404, not somewhere else
    return app


def _to(path: str, cookie: tuple[str, str] | None = None) -> Response:
    response = RedirectResponse(path, 303)
    if cookie is not None:
        response.set_cookie(*cookie, path=path, httponly=True, samesite="strict")
    return response
