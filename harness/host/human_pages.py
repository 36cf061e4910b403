"""What the person sees, from plain data: every name escaped, bounded and on one line."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from formatters.escape import one_line
from harness.host.approvals import ApprovalRequest
from harness.host.audit import MAX_NAME_CHARS
from harness.host.redact import MAX_SUMMARY_CHARS, cut
from harness.host.scope import Bot
from harness.host.takeover import DEAD, TakeoverState

KEY_CHARS = 16
"""Hexadecimal figures of a bot's key in an address: its name may hold anything."""

REFRESH_S = 10
"""Seconds after which the overview is read anew. Only while no question waits: a button must not move under a hand."""

Notice = Literal["late", "forbidden", "nothing", "dead_link", "released", "stopped", "cleanup", "unused", "not_offered"]

Access = Literal["unused", "granted", "unasked", "denied", "stopped", "ended"]
"""Whether a bot may use its browser: it never registered; the answer to its sessions; why it has no session now."""

ACCESS_WORDS: Mapping[Access, str] = {
    "unused": "not used yet",
    "granted": "allowed",
    "unasked": "waits to be allowed",
    "denied": "denied",
    "stopped": "stopped",
    "ended": "no session now",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BotView:
    """One bot as it is now."""

    bot: Bot
    access: Access
    paused: bool
    cleanup_required: bool
    takeover: TakeoverState

    @property
    def key(self) -> str:
        """How addresses name the bot."""
        return bot_key(self.bot.name)

    @property
    def live(self) -> bool:
        """Whether it has a session, so that there is something to pause."""
        return self.access in ("granted", "unasked", "denied")


class Asked(Protocol):
    """One question that waits."""

    @property
    def number(self) -> str:
        """How addresses name it."""
        ...

    @property
    def request(self) -> ApprovalRequest:
        """What is asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    status: int
    title: str
    text: str


_NOTICES: Mapping[Notice, _Text] = {
    "late": _Text(
        status=409,
        title="Too late",
        text="This question does not wait any more: it was answered, took too long, or its session ended. "
        "Nothing was allowed or denied by your click.",
    ),
    "forbidden": _Text(
        status=403,
        title="No access",
        text="This page belongs to a session that this browser does not have, or not any more. Use the link of the "
        "host, or of the bot's request.",
    ),
    "nothing": _Text(status=404, title="Not found", text="There is nothing here."),
    "dead_link": _Text(status=404, title="Link not usable", text=DEAD),
    "released": _Text(
        status=200,
        title="The bot goes on",
        text="You have let go of the browser. The bot looks at the page anew before it acts. "
        "You can close this window.",
    ),
    "stopped": _Text(
        status=200,
        title="Stopped",
        text="The browser was ended, and every bot of its profile has lost its permission. You can close this window.",
    ),
    "cleanup": _Text(
        status=503,
        title="Not everything has ended",
        text="Every bot of this profile has lost its permission, but a part of the browser still runs. "
        "Nothing new is started on this profile until it is gone: go back, and use Stop again.",
    ),
    "unused": _Text(
        status=409, title="Nothing to do yet", text="This bot has not used a browser since the host was started."
    ),
    "not_offered": _Text(
        status=409,
        title="Nothing to take over",
        text="This bot does not ask for a person any more: somebody has taken over, or its request has ended.",
    ),
}


class Pages:
    """The pages. `style_source` is what a content security policy needs to let their one style in."""

    def __init__(self) -> None:
        loader = PackageLoader("harness.host", "templates")
        self._templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self._templates.filters["name"] = shown
        self._templates.filters["summary"] = shown_summary
        style, _, _ = loader.get_source(self._templates, "human.css")
        self._templates.globals["access_words"] = ACCESS_WORDS
        self._templates.globals["style"] = Markup(style)
        self.style_source = f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"

    def link(self, kind: Literal["operator", "takeover"]) -> Response:
        """The page of a link that works once, with the button that uses it up."""
        return self._page("link", 200, kind=kind)

    def overview(
        self, bots: Sequence[BotView], asked: Sequence[Asked], *, still: bool, stopped: str | None
    ) -> Response:
        """All bots and questions.

        `still`: it is not to be read anew by itself. `stopped`: the key of a bot on which Stop was used just now; it
        is believed only where the bot has no session.
        """
        refresh_s = None if still or asked else REFRESH_S
        done = next((one for one in bots if one.key == stopped and not one.live and not one.cleanup_required), None)
        return self._page("overview", 200, bots=bots, asked=asked, still=still, refresh_s=refresh_s, done=done)

    def bot(self, bot: BotView) -> Response:
        """The bot that a person has taken over."""
        return self._page("bot", 200, one=bot)

    def notice(self, notice: Notice, back: str | None = None) -> Response:
        """One thing to say; `back` is where the person goes on. Left out, it is the overview where that helps."""
        said = _NOTICES[notice]
        back = "/" if back is None and said.status in (409, 503) else back
        return self._page("notice", said.status, notice=said, back=back)

    def _page(self, name: str, status: int, **values: object) -> Response:
        return HTMLResponse(self._templates.get_template(f"{name}.html.j2").render(**values), status)


def bot_key(name: str) -> str:
    """How addresses name a bot: a part of its name's digest."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_CHARS]


def shown(name: str) -> str:
    """A name as the pages show it: on one line, in one direction, at most 80 code points of it."""
    return one_line(cut(name, MAX_NAME_CHARS))


def shown_summary(summary: str) -> str:
    """What a call asks for as the pages show it: as `shown`, at most 200 code points of it."""
    return one_line(cut(summary, MAX_SUMMARY_CHARS))
