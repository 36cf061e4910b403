"""The parameters of the eight verification tools: strict models, which are also the JSON schemas that a model is shown.

No browser is needed here: a child process imports this, too.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, AnyHttpUrl, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, TypeAdapter

MIN_TIMEOUT_MS = 100
MAX_TIMEOUT_MS = 120_000
DEFAULT_TIMEOUT_MS = 30_000

READ_MS = 10_000
"""Bound of the tools that take no timeout: they wait for nothing but a page's end."""

MAX_URL_CHARS = 2_048
MAX_EXPRESSION_CHARS = 10_000
MAX_SELECTOR_CHARS = 2_048
MAX_VALUE_CHARS = 100_000

MAX_VALUE_BYTES = 200_000
"""UTF-8 bytes of a value to fill in; leaves room in a frame to a child's parent (harness/subagents/frames.py)."""

MAX_FILTER_CHARS = 1_000
MAX_LIMIT = 1_000
DEFAULT_LIMIT = 100
MAX_HEADER_NAMES = 50
MAX_HEADER_NAME_CHARS = 100

_ADDRESS: TypeAdapter[AnyHttpUrl] = TypeAdapter(AnyHttpUrl)


def no_nul(text: str) -> str:
    """The text as it is. Raises ValueError where it holds a NUL."""
    if "\0" in text:
        raise ValueError("it holds a NUL")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank")
    return text


def _address(url: str) -> str:
    """The address as browsers write it. Raises pydantic's ValidationError, which is a ValueError."""
    return str(_ADDRESS.validate_python(no_nul(url)))


def _few_bytes(text: str) -> str:
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_VALUE_BYTES:
        raise ValueError(f"it has {size} bytes in UTF-8, and at most {MAX_VALUE_BYTES} are taken")
    return text


def _header_name(name: str) -> str:
    return _not_blank(no_nul(name)).strip().lower()


Timeout = Annotated[int, Field(ge=MIN_TIMEOUT_MS, le=MAX_TIMEOUT_MS, description="milliseconds")]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_CHARS), AfterValidator(_address)]
Expression = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_EXPRESSION_CHARS), AfterValidator(_not_blank)
]
Selector = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_SELECTOR_CHARS),
    AfterValidator(no_nul),
    AfterValidator(_not_blank),
    Field(description="text=..., role=... or CSS"),
]
Value = Annotated[
    str, StringConstraints(max_length=MAX_VALUE_CHARS), AfterValidator(no_nul), AfterValidator(_few_bytes)
]
Filter = Annotated[str, StringConstraints(max_length=MAX_FILTER_CHARS), AfterValidator(no_nul)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
HeaderName = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_HEADER_NAME_CHARS), AfterValidator(_header_name)
]


class Parameters(BaseModel):
    """Base of the tools' parameters."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Timed(Parameters):
    timeout: Timeout = DEFAULT_TIMEOUT_MS


class Goto(_Timed):
    """Load an http or https address in your page; returns when the document's content is there."""

    url: Url


class Eval(_Timed):
    """Evaluate one JavaScript expression in your page, call it if it is a function, and await its promise."""

    expression: Expression


class Console(Parameters):
    """Read the console messages and uncaught errors of your page, oldest first."""

    limit: Limit = DEFAULT_LIMIT
    filter: Filter | None = None
    clear: bool = True


class Network(Parameters):
    """Read the requests of your page, oldest first; bodies are not kept, secrets in headers never shown."""

    limit: Limit = DEFAULT_LIMIT
    url_filter: Annotated[Filter | None, Field(alias="urlFilter")] = None
    status: Annotated[int, Field(ge=100, le=599)] | None = None
    verbose: bool = False
    include_headers: Annotated[list[HeaderName], Field(alias="includeHeaders", max_length=MAX_HEADER_NAMES)] = []
    clear: bool = True


class Fill(_Timed):
    """Replace what a field of your page holds."""

    selector: Selector
    value: Value


class Click(_Timed):
    """Click an element of your page."""

    selector: Selector


class Screenshot(_Timed):
    """Take a picture of your page; the answer is the path of a PNG file, which goes with the page."""

    full_page: Annotated[bool, Field(alias="fullPage")] = False


class Close(Parameters):
    """Close your page; a later call opens a new, blank one."""


TOOLS: Mapping[str, type[Parameters]] = {
    "browser_goto": Goto,
    "browser_eval": Eval,
    "browser_console": Console,
    "browser_network": Network,
    "browser_fill": Fill,
    "browser_click": Click,
    "browser_screenshot": Screenshot,
    "browser_close": Close,
}


def bound_ms(tool: str, params: Mapping[str, JsonValue]) -> int:
    """The bound of a call, whose parameters may not be checked yet."""
    if not issubclass(TOOLS.get(tool, Close), _Timed):
        return READ_MS
    given = params.get("timeout")
    if isinstance(given, int) and not isinstance(given, bool) and MIN_TIMEOUT_MS <= given <= MAX_TIMEOUT_MS:
        return given
    return DEFAULT_TIMEOUT_MS


def schema(tool: str) -> dict[str, JsonValue]:
    """The JSON schema of a tool's parameters."""
    return TOOLS[tool].model_json_schema(by_alias=True)
