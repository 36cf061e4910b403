"""One program run to its end within a bound, for questions like `--version` and for installation steps; not for Chrome.

Blocking: call it from a thread where an event loop runs.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

MAX_ANSWER_BYTES = 64 * 1024
"""Last bytes of each output that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How it ended. `code` is None, and `fault` says why, where it did not start or did not end in time."""

    code: int | None
    stdout: str
    stderr: str
    fault: str | None = None


def run_bounded(argv: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> Answer:
    """Run a program in a session of its own and kill all of it after `timeout_s` seconds."""
    # Files, not pipes: a grandchild that outlives the program cannot keep us waiting for the end of a pipe.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            return Answer(code=None, stdout="", stderr="", fault=f"could not be started: {error.strerror}")
        code: int | None = None
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            fault = f"did not end within {timeout_s:g} s"
            return Answer(code=None, stdout=_tail(out), stderr=_tail(err), fault=fault)
        finally:
            if code is None:
                _kill(process)
        return Answer(code=code, stdout=_tail(out), stderr=_tail(err))


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(file: BinaryIO) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MAX_ANSWER_BYTES))
    return file.read(MAX_ANSWER_BYTES).decode("utf-8", errors="replace")
