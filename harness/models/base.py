"""What a model route is: it is shown text, and answers with one tool call or an end.

A route sees what a `ModelRequest` holds and nothing else: no page, no fixture, no driver.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from harness.errors import AxtrialError
from reports.row import Usage


class RouteError(AxtrialError):
    """The route gave no usable answer: network, provider, credentials, or a reply that does not decode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a bot tool, its arguments as the tool's schema names them."""

    name: str
    arguments: dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The bot says that the goal is reached. A claim, never evidence."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The bot says that it cannot go on, and why."""

    reason: str


Action = ToolCall | Done | GiveUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier call with its answer, as the model saw it."""

    call: ToolCall
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """All that a model is shown for one decision.

    `latest` is the text of the last tool answer (the whole rendering, after `observe`), empty before the first call.
    `tools` are JSON schemas.
    """

    instructions: str
    goal: str
    history: tuple[Exchange, ...]
    latest: str
    tools: tuple[Mapping[str, JsonValue], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One decision. `usage` is what the route reported (None: nothing), `raw` the usage object as it came."""

    action: Action
    usage: Usage | None = None
    raw: Mapping[str, JsonValue] | None = None


class Route(Protocol):
    """Where decisions come from. One route serves one trial."""

    @property
    def name(self) -> str:
        """The route's name, as it stands in rows and manifests."""
        ...

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Decide what comes next.

        Raises:
            RouteError: there is no usable answer.
        """
        ...
