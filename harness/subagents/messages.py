"""The messages about browser pages, strictly read: between parent and children, and inside the parent.

Inside the parent: browser:request, browser:cancel and browser:result. On the socket a child's frames carry its token
and its owner; what the child asks for names no owner, so that it can only ask for itself.
"""

from functools import cache
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SkipValidation,
    StringConstraints,
    TypeAdapter,
)
from pydantic.alias_generators import to_camel

from harness.tools.verify_params import no_nul

REQUEST, CANCEL, RESULT = "browser:request", "browser:cancel", "browser:result"

MAX_ID_CHARS = 256
MAX_SOCKET_ID_CHARS = 128
MAX_TOOL_CHARS = 64

ErrorKind = Literal[
    "bad_request", "refused", "failed", "timed_out", "aborted", "too_large", "no_answer", "disconnected"
]


def _id(max_chars: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=max_chars)


Id = Annotated[str, _id(MAX_ID_CHARS), AfterValidator(no_nul)]
SocketId = Annotated[str, _id(MAX_SOCKET_ID_CHARS), AfterValidator(no_nul)]
SOCKET_ID: TypeAdapter[SocketId] = TypeAdapter(SocketId)
SocketOwner = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$")]
Token = Annotated[str, StringConstraints(min_length=1, max_length=128)]
ToolName = Annotated[str, StringConstraints(pattern=rf"^[A-Za-z0-9_.-]{{1,{MAX_TOOL_CHARS}}}$")]
"""Stands in sentences as it is, so it is plain also where there is no such tool."""

Object = dict[str, Annotated[JsonValue, SkipValidation]]
"""What stands in a frame is JSON already when it is read: each value is not looked at again."""


_key = cache(to_camel)  # of the fields below alone


class _Message(BaseModel):
    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
    )

    def wire(self) -> Object:
        """The message as JSON values. An object in it is handed on as it is, however deep: pydantic would follow it."""
        return {_key(name): value.wire() if isinstance(value, _Message) else value for name, value in self}


# ---- inside the parent ----


class BrowserRequest(_Message):
    """One tool is to be used for an owner."""

    request_id: Id
    owner: Id
    tool: ToolName
    params: Object = {}


class BrowserCancel(_Message):
    """The request with this id is not wanted any more; its result says when it has ended."""

    request_id: Id
    owner: Id


class Result(_Message):
    """What a tool told: a text for a model, and the same as data."""

    text: str
    details: Object


class Failure(_Message):
    """Why it was not carried out; callers branch on `kind`, the sentence is for a model."""

    kind: ErrorKind
    message: str


class BrowserResult(_Message):
    """The end of a request. `owner` None: the request named none that could be read."""

    request_id: Id
    owner: Id | None
    ok: bool
    result: Result | None = None
    error: Failure | None = None


def failed(request: BrowserRequest, kind: ErrorKind, message: str) -> BrowserResult:
    """The result of a request that was not carried out."""
    error = Failure(kind=kind, message=message)
    return BrowserResult(request_id=request.request_id, owner=request.owner, ok=False, error=error)


# ---- from a child ----


class _FromChild(_Message):
    token: Token
    owner: SocketOwner


class Hello(_FromChild):
    """The first frame; binds the connection to the owner."""

    kind: Literal["hello"] = "hello"


class Wanted(_Message):
    """A tool and its parameters; whose page it is, is not the child's to say."""

    tool: ToolName
    params: Object = {}


class Call(_FromChild):
    """A tool is to be used."""

    kind: Literal["browser"] = "browser"
    request_id: SocketId
    payload: Wanted


class Cancel(_FromChild):
    """A call is not wanted any more."""

    kind: Literal["cancel"] = "cancel"
    request_id: SocketId


class Report(_FromChild):
    """The child's own result, which ends its run."""

    kind: Literal["report"] = "report"
    payload: Object


FromChild = Hello | Call | Cancel | Report
FROM_CHILD: TypeAdapter[FromChild] = TypeAdapter(Annotated[FromChild, Field(discriminator="kind")])


# ---- to a child ----


class Ownership(_Message):
    """The answer to a hello: who the child is."""

    kind: Literal["ownership"] = "ownership"
    owner: SocketOwner


class Refused(_Message):
    """The answer to a hello that is not accepted; the connection ends."""

    kind: Literal["refused"] = "refused"
    message: str


class Reply(_Message):
    """The end of a call."""

    kind: Literal["result"] = "result"
    request_id: SocketId
    owner: SocketOwner
    ok: bool
    result: Result | None = None
    error: Failure | None = None


ToChild = Ownership | Refused | Reply
TO_CHILD: TypeAdapter[ToChild] = TypeAdapter(Annotated[ToChild, Field(discriminator="kind")])


# ---- beside the socket ----


class Loadout(_Message):
    """What a child is started with, in a file that only its user can read. `tools`: those that it may show a model."""

    socket: str
    owner: SocketOwner
    token: Token
    tools: list[ToolName]
