"""Whatever kills a host, its children are gone at once: not only when the next start sweeps what is left."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from harness.drivers.native_pin import NativeBinary
from harness.leftovers import living_users, sweep_leftovers

if TYPE_CHECKING:
    from tests.faults.conftest import Cli, Gate

BOUND_S = 30.0
ROOT = Path(__file__).parent.parent.parent

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(
        sys.platform != "linux", reason="only Linux ends a process with its parent; else the sweep does"
    ),
]

# A child that hears neither a signal nor the end of its input, as one that hangs.
HOST = """
import asyncio, os, re, sys
from harness import process as owned
from harness.process import Command, owned_process, private_folder
from harness.tied import Tied

if sys.argv[1] == "untied":
    owned.tied = lambda argv, environment, own: Tied(argv, environment)

async def main():
    script = "trap '' TERM HUP INT; echo ready >&2; while :; do sleep 1000; done"
    async with private_folder() as folder:
        command = Command(argv=("/bin/sh", "-c", script), environment={"HOME": str(folder)}, close_s=5.0)
        async with owned_process(command, folder) as child:
            await child.find(re.compile("ready\\n"))
            print(child.pid, folder, flush=True)
            await asyncio.Event().wait()

asyncio.run(main())
"""

CHROME = """
import asyncio, os, signal
from harness.config import load_settings
from harness.targets.local import local

async def main():
    async with local(load_settings()) as endpoint:
        os.kill(endpoint.pid, signal.SIGSTOP)
        print(endpoint.pid, endpoint.profile.parent, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def own_temp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp folder that no other test sweeps; at the end it is empty."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert list(Path(name).iterdir()) == []


@contextmanager
def killed_host(script: str, temp: Path, *arguments: str) -> Iterator[tuple[int, int, Path]]:
    """Run a host until it names its child, take hold of the child, kill the host; the child's pidfd, pid and folder."""
    environment = {**os.environ, "TMPDIR": str(temp), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=temp) as host:
        try:
            assert host.stdout is not None
            pid, folder = host.stdout.readline().split()
            child = os.pidfd_open(int(pid))
        finally:
            host.kill()
            host.wait(BOUND_S)
    try:
        yield child, int(pid), Path(folder)
    finally:
        os.close(child)


def has_ended(child: int, seconds: float) -> bool:
    return select.select([child], [], [], seconds)[0] == [child]


def test_a_child_that_hears_nothing_ends_with_its_host(own_temp: Path) -> None:
    with killed_host(HOST, own_temp, "tied") as (child, _, folder):
        assert has_ended(child, BOUND_S)

    assert sweep_leftovers() == [folder]
    assert living_users(folder, None) == []


def test_without_the_tie_the_sweep_ends_it(own_temp: Path) -> None:
    with killed_host(HOST, own_temp, "untied") as (child, pid, folder):
        assert (has_ended(child, 0), psutil.pid_exists(pid)) == (False, True)
        assert sweep_leftovers() == [folder]
        assert has_ended(child, BOUND_S)


@pytest.mark.browser
def test_a_chrome_that_hangs_ends_with_its_host_and_takes_its_own_with_it(own_temp: Path) -> None:
    with killed_host(CHROME, own_temp) as (child, pid, folder):
        assert has_ended(child, BOUND_S)
        _, alive = psutil.wait_procs(living_users(folder, pid), timeout=BOUND_S)

    assert alive == []
    assert sweep_leftovers() == [folder]


@pytest.mark.browser
def test_a_killed_run_with_a_native_child_leaves_none(
    cli: "Cli", gate: "Gate", gated: Path, native_binary: NativeBinary, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("run", "--fixtures", gated, "--out", "run", "--arm", "agent-browser/local/verbatim", "--repeats", "1")
    process = cli.start(*command)
    gate.wait()
    children = [user for user in cli.users() if user.pid != process.pid]
    native = [child for child in children if child.exe() == str(native_binary.path)]
    process.kill()
    ended = cli.end(process)
    _, alive = psutil.wait_procs(children, timeout=BOUND_S)

    assert (ended.code, len(native), len(children) > 3, alive) == (-signal.SIGKILL, 1, True, [])
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(cli.temp))
        assert len(sweep_leftovers()) == 2  # Chrome's folder and the child's
