"""CDP accessibility nodes -> flat tree of AxNode -> native grammar text; child frames joined in place.

The reading is lossless in words: it leaves out ignored nodes, layout boxes, a text that only repeats its parent's name
or value, and wrappers without a name. Everything is linear in the number of nodes, and nothing recurses.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from observe.limits import MAX_AROUND
from observe.model import AxNode

RawNode = Mapping[str, Any]
"""One `Accessibility.AXNode` of the Chrome DevTools Protocol."""

NOT_READ = AxNode(depth=0, role="FrameNotRead")
"""Stands below an Iframe whose content could not be read. No page can name a role so."""

_UNREAD = "NotReadYet"
"""Role of a mark where a partial document goes on, its name the id of a node there. It never leaves this module."""

_FRAME_ROLES = frozenset({"Iframe", "IframePresentational"})
_BOX_ROLES = frozenset({"InlineTextBox"})
_WRAPPER_ROLES = frozenset({"none", "RootWebArea"})
_STATE_WORDS = ("disabled", "required")
_DROPPED = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060")) | {0xA0: " "}
_BULLET = "•"
_MASK = _BULLET * 4
"""Shown for a password: that it is filled, and not how long it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxFrame:
    """The nodes of one document, and its child frames by the backend id of the element that holds them.

    None in `children` stands for a frame whose content could not be read. `partial`: a child that is not among the
    nodes exists and was not read; else there is none.
    """

    nodes: Sequence[RawNode]
    children: Mapping[int, "AxFrame | None"] = field(default_factory=dict)
    partial: bool = False


def read_tree(frame: AxFrame) -> tuple[AxNode, ...]:
    """The tree of a page, in document order, child frames below their Iframe node."""
    return _without_echoes(_merged(_walk(frame)))


class Beginning(NamedTuple):
    """The first nodes of a tree. All but the last are those of the whole tree, if `certain`.

    `gaps` are ids of nodes that were not read: the first in document order, then one below each node around it that
    has more. None: `nodes` are all.
    """

    nodes: tuple[AxNode, ...]
    gaps: tuple[str, ...]
    certain: bool


def read_beginning(frame: AxFrame) -> Beginning:
    """The tree of a partial document up to the first node that was not read."""
    walked = list(_open_ended(_walk(frame)))
    marked = _without_echoes(_merged(iter(walked)))
    end = next((index for index, node in enumerate(marked) if node.role == _UNREAD), len(marked))
    nodes = marked[:end]
    if end == len(marked):
        return Beginning(nodes, (), True)
    # What is unread may turn out to hold nothing: then a wrapper that it keeps would go.
    bare = _without_echoes(_merged(node for node in walked if node.role != _UNREAD))
    gaps = tuple(node.name for node in walked if node.role == _UNREAD)
    return Beginning(nodes, gaps, bare == nodes)


def _open_ended(nodes: Iterator[AxNode]) -> Iterator[AxNode]:
    """The nodes before the first unread one, and then of the rest one mark for each node around that has more below."""
    depth: int | None = None
    for node in nodes:
        if depth is None:
            yield node
            if node.role == _UNREAD:
                depth = node.depth
        elif node.depth < depth:
            depth = node.depth
            yield AxNode(depth, _UNREAD, node.name if node.role == _UNREAD else "")


def _roots(nodes: Sequence[RawNode]) -> list[RawNode]:
    return [node for node in nodes if "parentId" not in node][:1]


def _walk(frame: AxFrame) -> Iterator[AxNode]:
    """Nodes in document order; those that are ignored give their place to their children."""
    by_id = {node["nodeId"]: node for node in frame.nodes}
    stack: list[tuple[RawNode, int, AxFrame, dict[str, RawNode], tuple[int, ...]]]
    stack = [(root, 0, frame, by_id, ()) for root in _roots(frame.nodes)]
    while stack:
        raw, depth, owner, known, around = stack.pop()
        role = raw["role"]["value"] if "role" in raw else "none"
        if role in _BOX_ROLES:
            continue
        if role == _UNREAD:
            yield AxNode(depth, _UNREAD, raw["nodeId"])
            continue
        element = raw.get("backendDOMNodeId") if owner is frame else None
        if not (raw.get("ignored") or role in _WRAPPER_ROLES):
            yield _node(raw, role, depth, element, around)
            depth, around = depth + 1, ()
        else:
            around = _around_below(around, element)
        if (child := owner.children.get(raw.get("backendDOMNodeId", -1))) is not None:
            inner = {node["nodeId"]: node for node in child.nodes}
            stack.extend((root, depth, child, inner, ()) for root in _roots(child.nodes))
        elif role in _FRAME_ROLES:
            yield NOT_READ._replace(depth=depth)
        for child_id in reversed(raw.get("childIds", ())):
            below = known.get(child_id)
            if below is None and owner.partial:
                below = {"nodeId": child_id, "role": {"value": _UNREAD}}
            if below is not None:
                stack.append((below, depth, owner, known, around))


def _around_below(around: tuple[int, ...], element: int | None) -> tuple[int, ...]:
    """What stands around the nodes below an element that is left out."""
    return around if element is None else (*around, element)[-MAX_AROUND:]


def _node(raw: RawNode, role: str, depth: int, element: int | None, around: tuple[int, ...]) -> AxNode:
    name = _clean(raw["name"].get("value", "")) if "name" in raw else ""
    value = _value(raw["value"].get("value"), name) if "value" in raw else None
    properties = raw.get("properties")
    return AxNode(depth, role, name, value, _attributes(properties) if properties else (), element, around)


def _clean(value: Any) -> str:
    text = str(value)
    return text if text.isascii() else text.translate(_DROPPED)


def _value(value: Any, name: str) -> str | None:
    if value is None:
        return None
    text = format(value, ".7g") if isinstance(value, int | float) else _clean(value)
    return text if text and text != name else None


def _attributes(properties: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The grammar's words, in its order. False selected, disabled and required are absent."""
    found = {entry["name"]: entry["value"].get("value") for entry in properties}
    words = []
    if (level := found.get("level")) is not None:
        words.append(f"level={level}")
    if (checked := found.get("checked")) in ("true", "false", "mixed"):
        words.append(f"checked={checked}")
    if (expanded := found.get("expanded")) is not None:
        words.append(f"expanded={'true' if expanded else 'false'}")
    if found.get("selected"):
        words.append("selected")
    words.extend(word for word in _STATE_WORDS if found.get(word))
    return tuple(words)


def _merged(nodes: Iterator[AxNode]) -> list[AxNode]:
    """Neighbouring texts of one parent become one; texts of blanks alone go."""
    kept: list[AxNode] = []
    for node in nodes:
        if node.role == "StaticText":
            last = kept[-1] if kept else None
            if last is not None and last.role == "StaticText" and last.depth == node.depth:
                kept[-1] = last._replace(name=last.name + node.name, around=_shared(last.around, node.around))
                continue
            if not node.name:
                continue
        kept.append(node)
    return [node for node in kept if node.role != "StaticText" or not node.name.isspace()]


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """What both begin with: the elements that stand around both."""
    return tuple(element for element, same in zip(one, other, strict=False) if element == same) if one != other else one


def _without_echoes(nodes: list[AxNode]) -> tuple[AxNode, ...]:
    """Drop what only repeats its parent (its one text equal to the name, its texts equal to the value), and wrappers
    without a name around a single node; the depth of what is left follows."""
    ends = _subtree_ends(nodes)
    kept: list[AxNode] = []
    open_until: list[int] = []  # ends of the kept nodes around the present one
    around: tuple[int, ...] = ()  # of the wrappers that were just left out
    index = 0
    while index < len(nodes):
        node, end = nodes[index], ends[index]
        while open_until and open_until[-1] <= index:
            open_until.pop()
        if _is_wrapper(node) and _children_at_most_one(nodes, ends, index):
            around = _around_below((*around, *node.around), node.element) if end > index + 1 else ()
            index += 1
            continue
        outer = (*around, *node.around)[-MAX_AROUND:] if around else node.around
        kept.append(
            AxNode(len(open_until), node.role, node.name, _shown(node.value), node.attributes, node.element, outer)
        )
        around = ()
        if _repeats(nodes, index, end):
            index = end
            continue
        open_until.append(end)
        index += 1
    return tuple(kept)


def _subtree_ends(nodes: list[AxNode]) -> list[int]:
    """For each node the index behind its last descendant."""
    ends = [len(nodes)] * len(nodes)
    open_nodes: list[int] = []
    for index, node in enumerate(nodes):
        while open_nodes and nodes[open_nodes[-1]].depth >= node.depth:
            ends[open_nodes.pop()] = index
        open_nodes.append(index)
    return ends


def _is_wrapper(node: AxNode) -> bool:
    return node.role == "generic" and not node.name and node.value is None and not node.attributes


def _children_at_most_one(nodes: list[AxNode], ends: list[int], index: int) -> bool:
    end = ends[index]
    return index + 1 == end or ends[index + 1] == end


def _repeats(nodes: list[AxNode], index: int, end: int) -> bool:
    """Whether all that is below this node is text which the node itself already shows."""
    node = nodes[index]
    if end == index + 2 and nodes[end - 1].role == "StaticText" and nodes[end - 1].name == node.name:
        return True
    if node.value is None:
        return False
    texts = []
    for below in nodes[index + 1 : end]:
        if below.role in ("StaticText", "LineBreak"):
            texts.append(below.name)
        elif below.role != "generic" or below.name:
            return False
    return "".join(texts) == node.value


def _shown(value: str | None) -> str | None:
    """A password arrives as one bullet a character: show that it is filled, not its length."""
    return _MASK if value is not None and not value.strip(_BULLET) else value


_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)} | {
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0C: "\\f",
    0x0D: "\\r",
    0x22: '\\"',
    0x5C: "\\\\",
}


def write_native(nodes: Sequence[AxNode]) -> str:
    """The tree as native grammar text (docs/observation.md, section 1), without refs; values unescaped, as it says."""
    if not nodes:
        return "(empty page)"
    lines = []
    for depth, role, name, value, attributes, *_ in nodes:
        line = f"{'  ' * depth}- {role}"
        if name:
            line += f' "{name.translate(_JSON_ESCAPES)}"'
        if attributes:
            line += f" [{', '.join(attributes)}]"
        if value is not None:
            line += f": {value}"
        lines.append(line)
    return "\n".join(lines)
