"""A tied program gets its environment, signals and end as it would untied, and ends with its owner."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.tied import EXIT_NOT_STARTED, EXIT_ORPHAN, Tied, tied

BOUND_S = 20.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")


def run(
    argv: tuple[str, ...], environment: Mapping[str, str], own: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    started = tied(argv, environment, own)
    return subprocess.run(
        started.argv, env=started.environment, capture_output=True, text=True, timeout=BOUND_S, check=False
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"A": "1"},
        {"LC_CTYPE": "C"},
        {"LC_ALL": "C"},
        {"LD_LIBRARY_PATH": "/own", "PYTHONPATH": "/none", "PATH": "/usr/bin:/bin"},
        {"B": "\udcff ="},
    ],
)
def test_the_program_gets_exactly_its_environment(environment: dict[str, str]) -> None:
    script = ("/usr/bin/env", "-0")
    started = tied(script, environment, {"LD_LIBRARY_PATH": "/somewhere", "SECRET": "x"})
    said = subprocess.run(started.argv, env=started.environment, capture_output=True, timeout=BOUND_S, check=True)

    assert dict(os.fsdecode(line).split("=", 1) for line in said.stdout.split(b"\0") if line) == environment


def test_its_code_outputs_and_signals_are_its_own() -> None:
    # A shell cannot undo a signal that is ignored at its start; with SIGPIPE at its default, `yes` ends by it.
    ended = run(("/bin/sh", "-c", "yes | head -n 1; echo err >&2; trap - PIPE; kill -PIPE $$"), {}, {})

    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGPIPE, "y\n", "err\n")


def test_a_bare_name_is_looked_up_in_the_programs_own_path(tmp_path: Path) -> None:
    program = tmp_path / "say"
    program.write_text("#!/bin/sh\necho said\n")
    program.chmod(0o755)

    assert run(("say",), {"PATH": str(tmp_path)}, {}).stdout == "said\n"


def test_what_is_no_program_is_told(tmp_path: Path) -> None:
    program = tmp_path / "text"
    program.write_text("just words")
    program.chmod(0o755)
    ended = run((str(program),), {}, {})

    assert (ended.returncode, ended.stderr) == (
        EXIT_NOT_STARTED,
        f"{program} could not be started: Exec format error\n",
    )


def test_one_whose_owner_is_gone_already_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    ended = run(("/bin/echo", "started"), {}, {})

    assert (ended.returncode, ended.stdout) == (EXIT_ORPHAN, "")


def test_elsewhere_the_command_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")

    assert tied(("/a", "b"), {"C": "d"}, {}) == Tied(("/a", "b"), {"C": "d"})
