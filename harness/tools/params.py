"""The parameters of a PersonaBot's tools: strict models, which are also the JSON schemas that a model is shown."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

MAX_TEXT_CHARS = 100_000
"""Code points of one typed text."""

MAX_URL_CHARS = 8_192
MAX_WAIT_MS = 10_000
MIN_SCROLL_PX = 100
MAX_SCROLL_PX = 2_000

Ref = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class _Parameters(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Open(_Parameters):
    """Load an address in the tab."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$", max_length=MAX_URL_CHARS)]


class Observe(_Parameters):
    """Read the page: its action refs and its text. Ends all earlier refs."""


class Screenshot(_Parameters):
    """Take a picture of what the window shows."""


class Click(_Parameters):
    """Click the element of an action ref."""

    ref: Ref


class Type(_Parameters):
    """Replace what a text field holds."""

    ref: Ref
    text: Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]


class SelectOption(_Parameters):
    """Choose an option of a select by its visible text; for a multiple select, several."""

    ref: Ref
    option: str | list[str]


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
    "wait": Wait,
    "dialog": Dialog,
}


def schemas() -> tuple[Mapping[str, JsonValue], ...]:
    """One entry a tool: name, description, and the JSON schema of its parameters."""
    return tuple(
        {"name": name, "description": " ".join((model.__doc__ or "").split()), "parameters": model.model_json_schema()}
        for name, model in TOOLS.items()
    )
