"""The steps of a scripted route, as a task's `[[script]]` tables write them."""

import re
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MAX_WAIT_MS = 10_000
"""Milliseconds of one `wait`, as the bot's tool bounds it."""

Tool = Literal[
    "open",
    "observe",
    "find",
    "click",
    "type",
    "select_option",
    "press_key",
    "scroll",
    "wait",
    "dialog",
    "upload",
    "screenshot",
    "tabs",
]

StateName = Literal[
    "value",
    "value-truncated",
    "name-truncated",
    "checked",
    "disabled",
    "readonly",
    "required",
    "invalid",
    "expanded",
    "selected",
    "pressed",
]

_ARGUMENTS: dict[Tool, tuple[frozenset[str], frozenset[str]]] = {
    "open": (frozenset({"url"}), frozenset()),
    "observe": (frozenset(), frozenset({"page"})),
    "find": (frozenset(), frozenset({"text", "regex"})),
    "click": (frozenset({"on"}), frozenset()),
    "type": (frozenset({"on", "text"}), frozenset()),
    "select_option": (frozenset({"on", "option"}), frozenset()),
    "press_key": (frozenset({"key"}), frozenset()),
    "scroll": (frozenset({"direction", "amount"}), frozenset()),
    "wait": (frozenset({"ms"}), frozenset()),
    "dialog": (frozenset({"accept"}), frozenset({"text"})),
    "upload": (frozenset({"on", "path"}), frozenset()),
    "screenshot": (frozenset(), frozenset()),
    "tabs": (frozenset({"action"}), frozenset({"url", "target_id"})),
}
"""What each tool must have, and may have. `beside` and `state` go wherever `on` goes; `see` and `read` anywhere."""

ARGUMENTS = frozenset[str]().union(*(needed | further for needed, further in _ARGUMENTS.values()))
"""The fields of a step that are a tool's arguments."""

_ON = re.compile(r'([A-Za-z][A-Za-z0-9_-]*) "(.*)"', re.DOTALL)
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_CAPTURE_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Step(BaseModel):
    """One tool call of a script, with what its answer must show.

    `on` is `role "Name"` and means exactly one ref of the last rendering. Among several of that role and name,
    `beside` means the first one that the rendering's body shows after the first line with that text. `state` is what
    the ref must have: a text (the state equals it), true (the word stands there, or `=true`) or false (it is absent,
    or `=false`).

    `see` and `read` are tried on this step's answer: each text of `see` must be in it, and each pattern of `read`,
    which has one group, must be found; what the group matched is `{name}` in the texts of later steps.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    tool: Tool
    on: str | None = None
    beside: str | None = None
    state: dict[StateName, str | bool] = Field(default_factory=dict)
    see: list[str] = Field(default_factory=list)
    read: dict[str, str] = Field(default_factory=dict)
    url: str | None = None
    page: int | None = Field(default=None, ge=1)
    regex: str | None = None
    text: str | None = None
    option: str | None = None
    key: str | None = None
    direction: Literal["up", "down"] | None = None
    amount: int | None = Field(default=None, ge=1)
    ms: int | None = Field(default=None, ge=0, le=MAX_WAIT_MS)
    accept: bool | None = None
    path: str | None = None
    action: Literal["list", "open", "select", "close"] | None = None
    target_id: str | None = None

    @field_validator("on")
    @classmethod
    def _on_is_role_and_name(cls, on: str | None) -> str | None:
        if on is not None and _ON.fullmatch(on) is None:
            raise ValueError('must be a role and a quoted name, such as: button "Save"')
        return on

    @field_validator("read")
    @classmethod
    def _read_has_one_group(cls, read: dict[str, str]) -> dict[str, str]:
        for name, pattern in read.items():
            if _CAPTURE_NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} must be lower-case letters, digits and underscores")
            try:
                groups = re.compile(_PLACEHOLDER.sub("x", pattern)).groups
            except re.error as error:
                raise ValueError(f"{name!r} is not a regular expression: {error}") from error
            if groups != 1:
                raise ValueError(f"{name!r} must have exactly one group, it has {groups}")
        return read

    @model_validator(mode="after")
    def _arguments_fit_the_tool(self) -> Self:
        required, optional = _ARGUMENTS[self.tool]
        given = {name for name in ARGUMENTS if getattr(self, name) is not None}
        if missing := required - given:
            raise ValueError(f"{self.tool} needs {', '.join(sorted(missing))}")
        if surplus := given - required - optional:
            raise ValueError(f"{self.tool} does not take {', '.join(sorted(surplus))}")
        if self.on is None and (self.beside is not None or self.state):
            raise ValueError("beside and state need on")
        return self

    def needs(self) -> frozenset[str]:
        """The names of the captures that this step's call and checks use."""
        own = (self.on, self.beside, self.text, self.option, self.regex, self.target_id, *self.see, *self.read.values())
        return frozenset(name for text in own if text is not None for name in _PLACEHOLDER.findall(text))


def split_on(on: str) -> tuple[str, str]:
    """The role and the name of `role "Name"`.

    Raises:
        ValueError: it is not of this form.
    """
    match = _ON.fullmatch(on)
    if match is None:
        raise ValueError(f"not a role and a quoted name: {on!r}")
    return match[1], match[2]


def fill(text: str, captured: dict[str, str], *, pattern: bool = False) -> str:
    """Put captures in place of `{name}`, escaped where `text` is a regular expression; unknown names stay."""

    def replace(match: re.Match[str]) -> str:
        value = captured.get(match[1])
        if value is None:
            return match[0]
        return re.escape(value) if pattern else value

    return _PLACEHOLDER.sub(replace, text)


def check_captures(steps: list[Step]) -> None:
    """Refuse a script that uses a capture before a step has read it.

    Raises:
        ValueError: naming the step, counted from 1, and the capture.
    """
    known: set[str] = set()
    for number, step in enumerate(steps, 1):
        if unknown := step.needs() - known:
            raise ValueError(f"step {number} uses {{{min(unknown)}}}, which no earlier step reads")
        known.update(step.read)
