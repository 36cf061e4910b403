"""What one line of the formatter `inline` says of a node and of its ref: each word once."""

from dataclasses import replace
from typing import Literal, NamedTuple

from formatters.escape import json_string, one_line
from formatters.refs import in_brackets, state_words
from observe.model import ActionRef, AxNode

HEADING_LEVEL = "level="

_SAME_ROLE = frozenset({("summary", "DisclosureTriangle")})
"""Role of a ref and role in the tree that say the same."""

_SAYS_NOTHING = frozenset({"generic", "paragraph", "LabelText", "none"})


class _Once(NamedTuple):
    """What is shown, whether it is cut, and what the tree says besides."""

    shown: str
    cut: Literal[True] | None
    other: str


class Told(NamedTuple):
    """`role` with the ref's number before it, where there is one; `name` as it is shown; `words` stand in brackets."""

    role: str
    name: str
    words: tuple[str, ...]

    @property
    def line(self) -> str:
        """Without indent."""
        name = [json_string(self.name)] if self.name or not self.role else []
        return " ".join([*([self.role] if self.role else []), *name]) + in_brackets(self.words)


def folded(text: str) -> str:
    """White space as single blanks, none at the ends."""
    return " ".join(text.split())


def has_words(node: AxNode) -> bool:
    """Whether a node has an attribute that is told."""
    return bool(node.attributes) and not all(_is_plain(word, node.role, False) for word in node.attributes)


def tell(node: AxNode, ref: ActionRef | None, *, native_menu: bool) -> Told:
    """What is said of a node. `native_menu`: its options follow, so that whether they are open says nothing."""
    role = "" if ref is not None and ref.role == "heading" else node.role  # a ref's role tells no level
    attributes = [word for word in node.attributes if not _is_plain(word, role, native_menu)]
    if ref is not None:
        return _with_ref(node, attributes, ref)
    value = () if node.value is None else (f"value={json_string(node.value)}",)
    return Told(_role(node), node.name, (*value, *map(one_line, attributes)))


def tell_alone(ref: ActionRef) -> Told:
    """What is said of a ref whose element the tree does not show."""
    return Told(_numbered(ref), ref.name, tuple(state_words(ref.state)))


def _is_plain(word: str, role: str, native_menu: bool) -> bool:
    """Whether an attribute tells only what the form of the text does."""
    if word.startswith(HEADING_LEVEL):
        return role in ("heading", "listitem")
    return native_menu and word.startswith("expanded=")


def _role(node: AxNode) -> str:
    """The role as one word; that of a heading has its level."""
    if node.role == "heading":
        level = next(
            (word.removeprefix(HEADING_LEVEL) for word in node.attributes if word.startswith(HEADING_LEVEL)), ""
        )
        return f"h{level}" if level.isdecimal() else node.role
    return node.role if node.role.isascii() and node.role.isalpha() else json_string(node.role)


def _numbered(ref: ActionRef) -> str:
    return f"{one_line(ref.ref).rpartition('_')[2]} {one_line(ref.role)}"


def _with_ref(node: AxNode, attributes: list[str], ref: ActionRef) -> Told:
    """The states of the ref, with what the tree alone says behind them."""
    state = ref.state
    name, name_cut, other_name = _once(ref.name, state.name_truncated, node.name)
    value, value_cut, other_value = _once(state.value or "", state.value_truncated, node.value or "")
    words = state_words(replace(state, value=value, name_truncated=name_cut, value_truncated=value_cut))
    known = {word.partition("=")[0] for word in words}
    words += [one_line(word) for word in attributes if word.partition("=")[0] not in known]
    if _has_own_role(node, ref):
        words.append(f"ax-role={_role(node)}")
    words += [
        f"ax-{what}={json_string(other)}" for what, other in (("name", other_name), ("value", other_value)) if other
    ]
    return Told(_numbered(ref), name, tuple(words))


def _once(shown: str, cut: Literal[True] | None, in_tree: str) -> _Once:
    """A ref's name or value beside that of the tree. Where the ref's was cut, the tree's may be the whole of it."""
    same, other = folded(shown), folded(in_tree)
    if not same and not cut:
        return _Once(in_tree, None, "")
    if cut and other.startswith(same):
        return _Once(in_tree, None, "")
    return _Once(shown, cut, "" if other == same else in_tree)


def _has_own_role(node: AxNode, ref: ActionRef) -> bool:
    if node.role in _SAYS_NOTHING or node.role == "listitem" or (ref.role, node.role) in _SAME_ROLE:
        return False
    return node.role.lower() != ref.role
