"""Whatever happens to a Chrome or to its owner: one typed error, no process, no folder."""

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from harness.config import Settings, Surroundings, load_settings
from harness.errors import ChromeDied, ChromeNotFound, PortTaken, TargetTimedOut
from harness.leftovers import Record, living_users, sweep_leftovers
from harness.targets import chrome as chrome_module
from harness.targets import local as local_module
from harness.targets.chrome import Found, find_chrome
from harness.targets.local import local

BOUND_S = 20.0
ROOT = Path(__file__).parent.parent.parent

HOST = """
import asyncio
from harness.config import load_settings
from harness.targets.local import local

async def main():
    async with local(load_settings()) as endpoint:
        print(endpoint.pid, endpoint.profile.parent, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""

FakeChrome = Callable[[str], Found]


@pytest.fixture(autouse=True)
def own_temp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp folder that no other test sweeps; at the end it is empty, and no process has its home in it."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert list(Path(name).iterdir()) == []
        assert users_below(Path(name)) == []


def users_below(folder: Path) -> list[int]:
    """Living processes whose home is in a folder below."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HOME", "").startswith(f"{folder}/") and process.status() != "zombie":
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def fake_chrome(tmp_path: Path) -> FakeChrome:
    """Make a shell script that stands in for Chrome."""

    def make(script: str) -> Found:
        path = tmp_path / "chrome"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return Found(path=path, version="1.0", source="setting")

    return make


async def test_no_chrome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AXTRIAL_CHROME", raising=False)
    nothing = Surroundings(search_path="", home=tmp_path, playwright_browsers=tmp_path)
    monkeypatch.setattr(chrome_module, "surroundings", lambda: nothing)
    monkeypatch.setattr(chrome_module, "_FIXED", {})

    with pytest.raises(ChromeNotFound):
        async with local(Settings()):
            pass


async def test_dies_at_start(fake_chrome: FakeChrome) -> None:
    found = fake_chrome("echo first >&2; printf 'no \\033[1mdisplay %300s\\n' x >&2; exit 5")

    with pytest.raises(ChromeDied) as caught:
        async with local(Settings(), chrome=found):
            pass

    assert caught.value.message == (
        f'Chrome ended at its start with exit code 5; its last line was "no \\u001b[1mdisplay {" " * 185}"...'
    )


async def test_is_no_program(fake_chrome: FakeChrome) -> None:
    found = fake_chrome("")
    found.path.unlink()

    with pytest.raises(ChromeDied) as caught:
        async with local(Settings(), chrome=found):
            pass

    assert caught.value.message.startswith("Chrome ended at its start with exit code 127; its last line was ")


async def test_hangs_silently(fake_chrome: FakeChrome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "CLOSE_S", 0.1)
    found = fake_chrome("sleep 1000 & sleep 1000")

    with pytest.raises(TargetTimedOut) as caught:
        async with local(Settings(chrome_start_timeout_s=0.2), chrome=found):
            pass

    assert caught.value.message == 'Chrome did not say within 0.2 s that it is ready; its last line was ""'


async def test_port_taken(fake_chrome: FakeChrome, tmp_path: Path) -> None:
    found = fake_chrome(f"touch {tmp_path}/started")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(PortTaken) as caught:
            async with local(Settings(cdp_port=port), chrome=found):
                pass

    assert caught.value.message == f"the debugging port {port} is in use; set another cdp_port, or 0 for a free one"
    assert not (tmp_path / "started").exists()


@pytest.mark.browser
async def test_port_taken_at_the_last_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "_refuse_taken", lambda port: None)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        with pytest.raises(PortTaken):
            async with local(Settings(cdp_port=other.getsockname()[1])):
                pass


async def test_cancelled_in_the_middle_of_the_start(
    fake_chrome: FakeChrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "CLOSE_S", 0.1)
    started = tmp_path / "started"
    os.mkfifo(started)
    found = fake_chrome(f"echo yes > {started}; sleep 1000")

    async def own() -> None:
        async with local(Settings(), chrome=found):
            pass

    owner = asyncio.create_task(own())
    # A reader of the FIFO waits for its writer: the script is running when this returns.
    await asyncio.wait_for(asyncio.to_thread(started.read_text), BOUND_S)
    owner.cancel()

    with pytest.raises(asyncio.CancelledError):
        await owner


@pytest.mark.browser
async def test_cancelled_at_once() -> None:
    found = find_chrome(load_settings())

    async def own() -> None:
        async with local(Settings(), chrome=found):
            pass

    for turns in range(6):
        owner = asyncio.create_task(own())
        for _ in range(turns):
            await asyncio.sleep(0)
        owner.cancel()
        with pytest.raises(asyncio.CancelledError):
            await owner


@pytest.mark.browser
async def test_killed_chrome_is_cleaned_up() -> None:
    async with local(Settings()) as endpoint:
        os.kill(endpoint.pid, signal.SIGKILL)


@pytest.mark.browser
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a foreign process's end by a Linux call")
def test_killed_host_leaves_no_chrome_and_the_next_start_sweeps(own_temp: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(own_temp), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", HOST], env=environment, stdout=subprocess.PIPE, text=True, cwd=own_temp
    ) as host:
        assert host.stdout is not None
        pid, folder = host.stdout.readline().split()
        ending = os.pidfd_open(int(pid))
        host.kill()
        host.wait(BOUND_S)
        gone, _, _ = select.select([ending], [], [], BOUND_S)
        os.close(ending)

    assert gone == [ending]
    record = Record.model_validate(json.loads((Path(folder) / "owner.json").read_text()))
    assert [child.pid for child in record.children] == [int(pid)]
    assert sweep_leftovers() == [Path(folder)]
    assert living_users(Path(folder), None) == []
