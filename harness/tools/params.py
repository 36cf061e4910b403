"""The parameters of a PersonaBot's tools: strict models, which are also the JSON schemas that a model is shown."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

MAX_TEXT_CHARS = 100_000
"""Code points of one typed text."""

MAX_URL_CHARS = 8_192
MAX_OPTION_CHARS = 1_000
MAX_OPTIONS = 100
MAX_WAIT_MS = 10_000
MAX_PAGE = 10_000
MAX_SEARCH_CHARS = 500
MIN_SCROLL_PX = 100
MAX_SCROLL_PX = 2_000

MAX_TAKEOVER_MS = 600_000

Ref = Annotated[str, StringConstraints(min_length=1, max_length=64)]
OptionText = Annotated[str, StringConstraints(max_length=MAX_OPTION_CHARS)]
TabId = Annotated[str, StringConstraints(min_length=1, max_length=64)]

_WEB_ADDRESS = r"^https?://[^\s]+$"


def _web_address(url: str) -> str:
    """The address as it is. Not a constraint of pydantic, whose sentence would be the pattern."""
    if re.fullmatch(_WEB_ADDRESS, url) is None:
        raise ValueError("only http:// and https:// addresses without blanks are opened")
    return url


Url = Annotated[
    str,
    StringConstraints(max_length=MAX_URL_CHARS),
    AfterValidator(_web_address),
    Field(json_schema_extra={"pattern": _WEB_ADDRESS}),
]


class _Parameters(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Open(_Parameters):
    """Load an address in the tab."""

    url: Url


class Observe(_Parameters):
    """Read the page: its action refs and its text. Ends all earlier refs."""


class ObservePage(_Parameters):
    """Read the document: its action refs and its text; with `page` 2 and up, on from where the page before was cut.
    Ends all earlier refs."""

    page: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 1


class Find(_Parameters):
    """Search all of the document, however long, for a text in any case, or for a regular expression of RE2: gives the
    lines that match, in the lines around them, and the action refs of elements whose role, name, value or row matches.
    Ends all earlier refs."""

    text: Annotated[str, StringConstraints(max_length=MAX_SEARCH_CHARS)] | None = None
    regex: Annotated[str, StringConstraints(max_length=MAX_SEARCH_CHARS)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.text is None) == (self.regex is None):
            raise ValueError("give either text or regex")
        return self


class Screenshot(_Parameters):
    """Take a picture of what the window shows."""


class Click(_Parameters):
    """Click the element of an action ref, or a point of the window, in CSS px from its upper left corner."""

    ref: Ref | None = None
    x: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    y: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        at = self.x is not None and self.y is not None
        if (self.ref is None) != at or (self.x is None) != (self.y is None):
            raise ValueError("give either ref, or x and y")
        return self


class Type(_Parameters):
    """Replace what a text field holds."""

    ref: Ref
    text: Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]


class SelectOption(_Parameters):
    """Choose an option of a select by its visible text; for a multiple select, several."""

    ref: Ref
    option: OptionText | Annotated[list[OptionText], Field(min_length=1, max_length=MAX_OPTIONS)]


class PressKey(_Parameters):
    """Press one key, no chords, where the focus is: a character, or a name such as Enter, Escape, Tab, ArrowDown."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=20)]


class Scroll(_Parameters):
    """Scroll what lies under the middle of the window, in CSS px."""

    direction: Literal["up", "down"]
    amount: Annotated[int, Field(ge=MIN_SCROLL_PX, le=MAX_SCROLL_PX)] = 600


class Upload(_Parameters):
    """Give a file to a file field, to what opens a file chooser, or without a ref to the page's only file field."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4_096)]
    ref: Ref | None = None


class Tabs(_Parameters):
    """List your tabs, open a new one, or select or close one by its id."""

    action: Literal["list", "open", "select", "close"]
    url: Url | None = None
    target_id: TabId | None = None

    @model_validator(mode="after")
    def _fits_action(self) -> Self:
        if (self.target_id is not None) != (self.action in ("select", "close")):
            raise ValueError("select and close take target_id, and no other action does")
        if self.url is not None and self.action != "open":
            raise ValueError("only open takes url")
        return self


class Takeover(_Parameters):
    """Ask a person to take the browser over, wait until that is over, or look how it stands."""

    action: Literal["request", "await", "status"]
    timeout_ms: Annotated[int, Field(ge=0, le=MAX_TAKEOVER_MS)] = MAX_TAKEOVER_MS


class Wait(_Parameters):
    """Wait for late content."""

    ms: Annotated[int, Field(ge=0, le=MAX_WAIT_MS)] = 1_000


class Dialog(_Parameters):
    """Answer the native dialog that is open; `text` is for a prompt."""

    accept: bool
    text: Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)] | None = None


TOOLS: Mapping[str, type[_Parameters]] = {
    "open": Open,
    "observe": Observe,
    "screenshot": Screenshot,
    "click": Click,
    "type": Type,
    "select_option": SelectOption,
    "press_key": PressKey,
    "scroll": Scroll,
    "upload": Upload,
    "tabs": Tabs,
    "wait": Wait,
    "takeover": Takeover,
    "dialog": Dialog,
}


_WITH_PAGING: Mapping[str, type[_Parameters]] = {**TOOLS, "observe": ObservePage, "find": Find}

NEEDS_PERSON = frozenset({"takeover"})
"""Tools that do nothing where nobody watches."""


def tools(*, paging: bool) -> Mapping[str, type[_Parameters]]:
    """The tools that there are. `paging`: those that reach all of a long document too."""
    return _WITH_PAGING if paging else TOOLS


def schemas(*, person: bool, paging: bool = False) -> tuple[Mapping[str, JsonValue], ...]:
    """One entry a tool: name, description, and the JSON schema of its parameters. `person`: somebody can take over;
    `paging` as in `tools`."""
    return tuple(
        {"name": name, "description": " ".join((model.__doc__ or "").split()), "parameters": model.model_json_schema()}
        for name, model in tools(paging=paging).items()
        if person or name not in NEEDS_PERSON
    )
