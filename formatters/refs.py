"""The lines of action refs: one ref is one line, always."""

from collections.abc import Sequence

from formatters.escape import json_string, one_line
from observe.model import ActionRef, ElementState


def ref_line(ref: ActionRef) -> str:
    """`ref role "name"`, then the states that apply in brackets, in the order of docs/observation.md, section 3."""
    line = f"{one_line(ref.ref)} {one_line(ref.role)} {json_string(ref.name)}"
    return line + in_brackets(state_words(ref.state))


def in_brackets(words: Sequence[str]) -> str:
    """What follows a name; nothing where there are no words."""
    return f" [{', '.join(words)}]" if words else ""


def state_words(state: ElementState) -> list[str]:
    """The states that apply. None means that one does not; an empty value is left out."""
    value = json_string(state.value) if state.value else None
    states = (
        ("value", value),
        ("value-truncated", state.value_truncated),
        ("name-truncated", state.name_truncated),
        ("checked", state.checked),
        ("disabled", state.disabled),
        ("readonly", state.readonly),
        ("required", state.required),
        ("invalid", state.invalid),
        ("expanded", state.expanded),
        ("selected", state.selected),
        ("pressed", state.pressed),
    )
    return [word if state is True else f"{word}={state}" for word, state in states if state is not None]
