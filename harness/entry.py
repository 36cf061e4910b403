"""Where the console script begins: an interrupt while the program is still being read is no traceback either."""

import sys

from harness.errors import EXIT_INTERRUPTED


def main() -> None:
    """Read the command line's modules, and hand over to them."""
    try:
        from harness.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("axtrial: interrupted\n")
        raise SystemExit(EXIT_INTERRUPTED) from None
    run()
