"""The same compaction on the tree itself. Names and values are JSON strings, so no value can look like a node.

For a tree without values, the text is that of the conservative formatter for the tree's native text, save the
characters in names that `escape.json_string` alone escapes.
"""

from collections.abc import Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from formatters.conservative import SCAFFOLDS, Compacted, is_ref, rule_counts
from formatters.escape import json_string, one_line
from observe.model import AxNode

EMPTY_PAGE = "(empty page)"
"""What native text says of a page without nodes."""


class _Ancestor(NamedTuple):
    """A node that others may stand below: its depth, the prefix of its children, and the name that they may echo."""

    depth: int
    prefix: str
    echo: str | None


_ROOT = _Ancestor(-1, "- ", None)


def compact(nodes: Sequence[AxNode]) -> Compacted:
    """Apply the three rules to a tree in document order, one pass; a node's parent is the nearest one less deep."""
    if not nodes:
        return Compacted(text=EMPTY_PAGE, verbatim=False, rules=rule_counts(0, 0, 0))
    ancestors = [_ROOT]
    lines: list[str] = []
    refs = scaffolds = echoes = 0
    for node, following in zip_longest(nodes, islice(nodes, 1, None)):
        while ancestors[-1].depth >= node.depth:
            ancestors.pop()
        parent = ancestors[-1]
        attributes = [entry for entry in node.attributes if not is_ref(entry)]
        refs += len(node.attributes) - len(attributes)
        bare = not attributes and node.value is None
        if bare and not node.name and node.role in SCAFFOLDS:
            scaffolds += 1
            ancestors.append(_Ancestor(node.depth, parent.prefix, None))
            continue
        leaf = following is None or following.depth <= node.depth
        if bare and leaf and node.role == "StaticText" and node.name and node.name == parent.echo:
            echoes += 1
            continue
        lines.append(parent.prefix + _content(node, attributes))
        if not leaf:
            ancestors.append(_Ancestor(node.depth, "  " + parent.prefix, _echo_below(node)))
    return Compacted(text="\n".join(lines), verbatim=False, rules=rule_counts(refs, scaffolds, echoes))


def _echo_below(node: AxNode) -> str | None:
    return node.name if node.role == "heading" and node.value is None else None


def _content(node: AxNode, attributes: Sequence[str]) -> str:
    """What stands on the line of a node, behind its prefix."""
    content = one_line(node.role)
    if node.name:
        content += " " + json_string(node.name)
    if attributes:
        content += f" [{one_line(', '.join(attributes))}]"
    if node.value is not None:
        content += ": " + json_string(node.value)
    return content
