"""Fails where a file or a function is longer than the house style's hard bound. Run by `make check`."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
ROOMS = ("observe", "formatters", "harness", "reports", "tests")


def too_long(path: Path) -> Iterator[str]:
    """One sentence for each bound that the file breaks."""
    source = path.read_text(encoding="utf-8")
    lines = len(source.splitlines())
    if lines > MAX_FILE_LINES:
        yield f"{path}: {lines} lines, at most {MAX_FILE_LINES}"
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {length} lines, at most {MAX_FUNCTION_LINES}"


def main() -> int:
    """0 if every file keeps the bounds."""
    root = Path(__file__).parent.parent
    files = sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))
    faults = [fault for path in files for fault in too_long(path)]
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
