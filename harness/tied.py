"""Ties a program's life to its owner's: on Linux the kernel ends it when the thread that started it ends.

Used in two ways: as a module it wraps a command, and as a program of its own it is what the wrapped command starts: it
asks the kernel for a SIGKILL and then becomes the program. Nothing of ours thus runs between fork and exec, where
other threads' locks may be held. Only the standard library may be imported here.

Not tied: on systems that are not Linux, and programs that run with more rights than their owner (set-user-ID), for
which the kernel drops the wish. What outlives its owner there is ended by the next sweep (harness/leftovers.py).
"""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""

EXIT_ORPHAN = 125
"""The owner was gone already when the kernel was asked; nobody is left to read this."""

EXIT_NOT_STARTED = 126
"""The program could not be run; stderr says why."""

_LIBRARIES = "LD_LIBRARY_PATH"
"""An interpreter may need this process's to find its own library."""

_LOCALE = "LC_ALL"
"""Where it is set, the interpreter leaves LC_CTYPE as it is."""


class Tied(NamedTuple):
    """What to start in place of the command."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


def tied(argv: tuple[str, ...], environment: Mapping[str, str], own: Mapping[str, str]) -> Tied:
    """The command that is killed when the calling thread ends; the same command where that cannot be.

    The program gets exactly `environment`. `own` are this process's variables, of which the interpreter may need one.
    """
    if sys.platform != "linux" or not sys.executable:
        return Tied(argv=argv, environment=environment)
    added = {} if _LIBRARIES in environment or _LIBRARIES not in own else {_LIBRARIES: own[_LIBRARIES]}
    if not environment.get(_LOCALE):
        added[_LOCALE] = "C.UTF-8"
    launcher = (sys.executable, "-I", "-S", str(Path(__file__).resolve()))
    facts = (str(os.getpid()), ",".join(added))
    return Tied(argv=(*launcher, *facts, *argv), environment={**environment, **added})


def main(owner: int, added: list[str], argv: list[str]) -> int:
    """Become the program; returns an exit code only where that fails."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != owner:  # it ended before the kernel was asked: no signal will come
        return EXIT_ORPHAN
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by the interpreter, and so by the program too
        signal.signal(ignored, signal.SIG_DFL)
    environment = {name: value for name, value in os.environb.items() if os.fsdecode(name) not in added}
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        sys.stderr.write(f"{argv[0]} could not be started: {error.strerror}\n")
    return EXIT_NOT_STARTED


if __name__ == "__main__":
    _, _owner, _added, *_argv = sys.argv
    sys.exit(main(int(_owner), _added.split(","), _argv))
