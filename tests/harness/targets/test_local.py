"""A real Chrome of its own for each call, gone with its folder at the end."""

import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from harness.config import Settings, load_settings
from harness.leftovers import living_users
from harness.targets import local as local_module
from harness.targets.chrome import Found, find_chrome
from harness.targets.local import local

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")
def chrome() -> Found:
    return find_chrome(load_settings())


@pytest.fixture(autouse=True)
def own_temp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp folder that no other test sweeps; at the end of the test it is empty and nobody uses it."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert list(Path(name).iterdir()) == []


async def test_endpoint_answers_and_all_is_gone_afterwards(chrome: Found, own_temp: Path) -> None:
    async with local(Settings(), chrome=chrome) as endpoint:
        async with connect(endpoint.browser_ws) as link:
            await link.send(json.dumps({"id": 1, "method": "Browser.getVersion"}))
            answer = json.loads(await link.recv())
        profile = endpoint.profile
        assert answer["result"]["product"].split("/")[1] == endpoint.browser_version
        assert re.fullmatch(rf"{endpoint.http.replace('http', 'ws')}/devtools/browser/[\w-]+", endpoint.browser_ws)
        assert (profile.parent.parent, profile.stat().st_mode & 0o777) == (own_temp, 0o700)
        assert [process.pid for process in living_users(profile.parent, None) if process.pid == endpoint.pid] == [
            endpoint.pid
        ]

    assert (living_users(profile.parent, endpoint.pid), profile.parent.exists()) == ([], False)


async def test_two_at_once_know_nothing_of_each_other(chrome: Found) -> None:
    async with local(Settings(), chrome=chrome) as one, local(Settings(), chrome=chrome) as two:
        assert len({one.browser_ws, two.browser_ws}) == len({one.profile, two.profile}) == len({one.pid, two.pid}) == 2


async def test_fixed_port_can_be_used_again_at_once(chrome: Found) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for _ in range(2):
        async with local(Settings(cdp_port=port), chrome=chrome) as endpoint, connect(endpoint.browser_ws):
            assert endpoint.http == f"http://127.0.0.1:{port}"


async def test_temp_folder_with_a_long_path(chrome: Found, own_temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = own_temp / ("long" * 25)
    long.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(long))
        async with local(Settings(), chrome=chrome) as endpoint:
            assert endpoint.profile.parent.parent == long

    long.rmdir()


@pytest.mark.parametrize(("uid", "flags"), [(0, ["--no-sandbox"]), (1000, [])])
def test_sandbox_is_off_only_as_root(monkeypatch: pytest.MonkeyPatch, uid: int, flags: list[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    found = Found(path=Path("/chrome"), version="1.0", source="setting")

    command = local_module._command(local_module._Start(settings=Settings(), found=found, folder=Path("/f")))

    assert [flag for flag in command.argv if "sandbox" in flag] == flags
