"""The DOM observation: the page script's source, and the strict decoding of its answers."""

from importlib.resources import files
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from observe import limits
from observe.errors import MalformedRead
from observe.model import (
    ActionRef,
    DomObservation,
    ElementState,
    PageText,
    SearchedElement,
    SearchedElements,
    Stamp,
    TriState,
)

STAMP_ATTRIBUTE = "data-axtrial-ref"
"""Carries `<nonce>:<n>` on each stamped element."""

MARK_ATTRIBUTE = "data-axtrial-mark"
"""Carries a one-time random mark on an element that a single action is about."""

_LIMITS = {
    "refs": limits.MAX_REFS,
    "value": limits.MAX_VALUE_CHARS,
    "name": limits.MAX_NAME_CHARS,
    "row": limits.MAX_ROW_CHARS,
    "text": limits.MAX_TEXT_READ_CHARS,
    "searched": limits.MAX_SEARCHED_ELEMENTS,
    "moving": limits.MAX_MOVING_FRAMES,
    "attribute": STAMP_ATTRIBUTE,
    "mark": MARK_ATTRIBUTE,
}

Nonce = Annotated[str, StringConstraints(pattern=rf"^[0-9a-f]{{{limits.NONCE_HEX_CHARS}}}$")]
Role = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _State(_Answer):
    value: str | None = None
    value_truncated: Literal[True] | None = None
    name_truncated: Literal[True] | None = None
    checked: TriState | None = None
    disabled: Literal[True] | None = None
    readonly: Literal[True] | None = None
    required: Literal[True] | None = None
    invalid: Literal[True] | None = None
    expanded: TriState | None = None
    selected: TriState | None = None
    pressed: TriState | None = None


class _Ref(_Answer):
    role: Role
    name: str
    state: _State


class _Dom(_Answer):
    document: Nonce
    url: str
    title: str
    total: Annotated[int, Field(ge=0)] | None
    before: Annotated[int, Field(ge=0)]
    refs: Annotated[list[_Ref], Field(max_length=limits.MAX_REFS)]


class _Searched(_Ref):
    row: str | None


class _Elements(_Answer):
    complete: bool
    elements: Annotated[list[_Searched], Field(max_length=limits.MAX_SEARCHED_ELEMENTS)]


class _Serialized(BaseModel):
    """Chrome says more of a node than its id; none of that is used."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _NodeId(_Serialized):
    backendNodeId: Annotated[int, Field(gt=0)]


class _Node(_Serialized):
    type: Literal["node"]
    value: _NodeId


class _Ids(_Serialized):
    type: Literal["array"]
    value: Annotated[list[_Node], Field(max_length=limits.MAX_REFS)]


class _Text(_Answer):
    text: Annotated[str, Field(max_length=limits.MAX_TEXT_READ_CHARS)]
    total: int | None


def page_script(*parts: str) -> str:
    """The expression that evaluates to the script object of one document.

    `parts` are sources of a driver's own functions: `(reads, observer, limits) => ({...})`.
    """
    folder = files("observe")
    reads = (folder / "dom_reads.js").read_text(encoding="utf-8")
    observer = (folder / "dom_observer.js").read_text(encoding="utf-8")
    own = "".join(f", ...({part})(reads, observer, limits)" for part in parts)
    return (
        f"(() => {{ const limits = {orjson.dumps(_LIMITS).decode()};"
        f"const reads = ({reads})(); const observer = ({observer})(reads, limits);"
        f"return {{ ...observer{own} }}; }})()"
    )


def decode_dom(answer: Any, stamp: Stamp) -> DomObservation:
    """The page script's `observe` answer as data.

    Raises:
        MalformedRead: it is not of the agreed form.
    """
    try:
        dom = _Dom.model_validate(answer)
    except ValidationError as error:
        raise MalformedRead(f"DOM observation: {_where(error)}") from error
    refs = tuple(
        ActionRef(
            ref=f"e{stamp.tag}_{number}",
            role=ref.role,
            name=ref.name,
            state=ElementState(**{key: getattr(ref.state, key) for key in ref.state.model_fields_set}),
        )
        for number, ref in enumerate(dom.refs, 1)
    )
    return DomObservation(
        document=dom.document, url=dom.url, title=dom.title, refs=refs, total=dom.total, before=dom.before
    )


def decode_elements(answer: Any) -> SearchedElements:
    """The page script's `elements` answer as data.

    Raises:
        MalformedRead: it is not of the agreed form.
    """
    try:
        read = _Elements.model_validate(answer)
    except ValidationError as error:
        raise MalformedRead(f"searched elements: {_where(error)}") from error
    elements = tuple(
        SearchedElement(role=each.role, name=each.name, value=each.state.value, row=each.row) for each in read.elements
    )
    return SearchedElements(elements=elements, complete=read.complete)


def decode_ids(answer: Any) -> tuple[int, ...]:
    """The ids in an array of elements, as Chrome's deep serialization gives it.

    Raises:
        MalformedRead: it is not of the agreed form.
    """
    try:
        return tuple(node.value.backendNodeId for node in _Ids.model_validate(answer).value)
    except ValidationError as error:
        raise MalformedRead(f"elements: {_where(error)}") from error


def decode_text(answer: Any) -> PageText:
    """The page script's `text` answer as data.

    Raises:
        MalformedRead: it is not of the agreed form.
    """
    try:
        read = _Text.model_validate(answer)
    except ValidationError as error:
        raise MalformedRead(f"page text: {_where(error)}") from error
    return PageText(text=read.text, chars_total=len(read.text) if read.total is None else read.total)


def decode_nonce(answer: Any) -> str:
    """The document nonce.

    Raises:
        MalformedRead: it is not of the agreed form.
    """
    if not (
        isinstance(answer, str) and len(answer) == limits.NONCE_HEX_CHARS and set(answer) <= set("0123456789abcdef")
    ):
        raise MalformedRead("document nonce")
    return answer


def _where(error: ValidationError) -> str:
    """Where an answer is wrong, without what it says: that is page text."""
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['type']}"
