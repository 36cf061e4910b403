"""What the driver `fake` reads of a document: AX nodes, visible text, the DOM answer, the identity of an element.

Pure functions; the forms are those of docs/observation.md, as the other drivers give them.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from harness.drivers.fake_document import INTERACTIVE, FakeDocument, FakeElement, Kind
from observe import limits
from observe.model import AxNode, PageText

_BLANKS = re.compile(r"[\s\ufeff]+")
_PASSWORD_MASK = "••••"
_NO_FILE = "No file chosen"

_ROLES: dict[Kind, str] = {"field": "textbox", "password": "textbox", "select": "combobox", "file": "input"}


class Identity(NamedTuple):
    """What the model was shown of an element, and what an action compares."""

    role: str
    name: str
    row: str | None


def fold(text: str) -> str:
    """White space as single blanks, none at the ends."""
    return _BLANKS.sub(" ", text).strip()


def role_of(element: FakeElement) -> str:
    """The role in the element's ref line."""
    if element.kind == "select" and element.multiple:
        return "listbox"
    return _ROLES.get(element.kind, element.kind)


def identity(element: FakeElement) -> Identity:
    """Role, name and row text, each within its bound."""
    row = None if element.row is None else fold(element.row)[: limits.MAX_ROW_CHARS]
    return Identity(role_of(element), fold(element.name)[: limits.MAX_NAME_CHARS], row)


def candidates(document: FakeDocument) -> list[FakeElement]:
    """All elements that qualify as action refs, in document order."""
    return [element for element in document.elements if element.kind in INTERACTIVE and not element.hidden]


def window(found: Sequence[FakeElement], before: int) -> slice:
    """Which of these elements get refs: those behind the first `before`, or all where they fit."""
    start = 0 if len(found) <= limits.MAX_REFS else before
    return slice(start, start + limits.MAX_REFS)


def dom_answer(document: FakeDocument, nonce: str, found: Sequence[FakeElement], part: slice) -> dict[str, Any]:
    """The `observe` answer of a page script, for observe.dom.decode_dom: of the elements `found`, those in `part`."""
    refs = [_described(element) for element in found[part]]
    counts = {"total": len(found), "before": part.start}
    return {"document": nonce, "url": document.url, "title": document.title, **counts, "refs": refs}


def elements_answer(document: FakeDocument) -> dict[str, Any]:
    """The `elements` answer of a page script, for observe.dom.decode_elements."""
    found = candidates(document)
    searched = found[: limits.MAX_SEARCHED_ELEMENTS]
    described = [{**_described(element), "row": identity(element).row} for element in searched]
    return {"complete": len(found) == len(searched), "elements": described}


def _described(element: FakeElement) -> dict[str, Any]:
    name, value = fold(element.name), element.shown_value()
    state = {
        "value": value[: limits.MAX_VALUE_CHARS] or None,
        "value_truncated": len(value) > limits.MAX_VALUE_CHARS or None,
        "name_truncated": len(name) > limits.MAX_NAME_CHARS or None,
        "checked": checked_of(element),
        "disabled": element.disabled or None,
        "readonly": element.readonly or None,
        "required": element.required or None,
        "invalid": element.invalid or None,
        "expanded": element.expanded,
        "selected": element.selected,
        "pressed": element.pressed,
    }
    known = {key: entry for key, entry in state.items() if entry is not None}
    return {"role": role_of(element), "name": name[: limits.MAX_NAME_CHARS], "state": known}


def checked_of(element: FakeElement) -> str | None:
    """A checkbox always has the state; another element only where the page gives it."""
    return element.checked or ("false" if element.kind == "checkbox" else None)


def ax_nodes(document: FakeDocument) -> tuple[AxNode, ...]:
    """The accessibility tree, in document order."""
    return tuple(node for element in document.elements if not element.hidden for node in _ax_of(element))


def _ax_of(element: FakeElement) -> list[AxNode]:
    words = tuple(_ax_words(element))
    own = AxNode(0, _ax_role(element), fold(element.name), _ax_value(element), words, element_id(element))
    popup = [AxNode(1, "MenuListPopup")] if _is_menu(element) else []
    depth = 1 + len(popup)
    chosen = element.chosen
    options = [AxNode(depth, "option", text, None, ("selected",) * (text in chosen)) for text in element.options]
    return [own, *popup, *options]


def element_id(element: FakeElement) -> int:
    """Stands for DevTools' id of an element: no other one that lives has the same."""
    return id(element)


def _is_menu(element: FakeElement) -> bool:
    return element.kind == "select" and not element.multiple


def _ax_role(element: FakeElement) -> str:
    return {"text": "StaticText", "file": "button"}.get(element.kind) or role_of(element)


def _ax_value(element: FakeElement) -> str | None:
    """A list of options shows what is chosen at the options themselves."""
    match element.kind:
        case "password":
            return _PASSWORD_MASK if element.value else None
        case "file":
            return ", ".join(element.files) or _NO_FILE
        case "select" if element.multiple:
            return None
        case _:
            return element.shown_value() or None


def _ax_words(element: FakeElement) -> list[str]:
    """The grammar's words, in its order."""
    expanded = "false" if _is_menu(element) else element.expanded
    words = ["level=1"] if element.kind == "heading" else []
    words += [f"checked={checked}"] if (checked := checked_of(element)) is not None else []
    words += [f"expanded={expanded}"] if expanded is not None else []
    words += ["selected"] if element.selected == "true" else []
    words += ["disabled"] if element.disabled else []
    return words + (["required"] if element.required else [])


def page_text(document: FakeDocument) -> PageText:
    """The visible text, one line for each element that has any."""
    lines = [line for element in document.elements if not element.hidden for line in _text_of(element)]
    whole = "\n".join(lines)
    return PageText(text=whole[: limits.MAX_TEXT_READ_CHARS], chars_total=len(whole))


def _text_of(element: FakeElement) -> tuple[str, ...]:
    match element.kind:
        case "text" | "heading" | "button" | "link":
            return (element.name,) if element.name else ()
        case "select":
            return element.options
        case _:
            return ()


def grey_jpeg(width: int, height: int) -> bytes:
    """A grey picture of that size in px, both multiples of 8: a baseline JPEG whose every block is empty."""
    ones = bytes([1] * 64)
    one_code = bytes([1] + [0] * 15) + b"\x00"  # a Huffman table of a single code of one bit, for the symbol 0
    parts = (
        (0xDB, b"\x00" + ones),
        (0xC0, b"\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big") + b"\x01\x01\x11\x00"),
        (0xC4, b"\x00" + one_code),
        (0xC4, b"\x10" + one_code),
        (0xDA, b"\x01\x01\x00\x00\x3f\x00"),
    )
    head = b"".join(bytes([0xFF, kind]) + (len(body) + 2).to_bytes(2, "big") + body for kind, body in parts)
    blocks = (width // 8) * (height // 8)
    return b"\xff\xd8" + head + bytes(blocks * 2 // 8) + b"\xff\xd9"
