"""A named profile is kept from one Chrome to the next, is held by one host at a time, and is nobody else's folder."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect

from harness.config import Settings, load_settings
from harness.errors import SetupError
from harness.targets.base import Endpoint, Target
from harness.targets.chrome import Found, find_chrome
from harness.targets.local import local
from harness.targets.profile import ProfileInUse, ProfileNameWrong, held_profile, profile_folder

BOUND_S = 20.0
ROOT = Path(__file__).parents[3]

HOST = """
import sys
from harness.config import load_settings
from harness.targets.profile import held_profile

with held_profile(load_settings(), "work"):
    print("held", flush=True)
    sys.stdin.read()
"""

CHROME_HOST = """
import asyncio
from harness.config import load_settings
from harness.targets.local import local

async def main():
    async with local(load_settings(), profile="work") as endpoint:
        print(endpoint.pid, endpoint.browser_ws, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"state_dir": tmp_path / "state"})


@pytest.fixture
def folder(settings: Settings) -> Path:
    return settings.state_dir / "profiles" / "work"


def test_it_is_made_in_the_state_folder_and_kept(settings: Settings, folder: Path) -> None:
    with held_profile(settings, "work") as held:
        assert (held.folder, folder.stat().st_mode & 0o777, folder.parent.stat().st_mode & 0o777) == (
            folder,
            0o700,
            0o700,
        )
        (folder / "kept").touch()
        folder.chmod(0o755)
    with held_profile(settings, "work"):
        assert ((folder / "kept").exists(), folder.stat().st_mode & 0o777) == (True, 0o700)
    assert (folder.with_name("work.lock").stat().st_mode & 0o777) == 0o600


@pytest.mark.parametrize("name", ["", "A", "a_b", "..", "a/b", "/etc", "a\n", "a.lock", "ä", "a" * 41])
def test_other_names_never_become_a_path(settings: Settings, name: str) -> None:
    with pytest.raises(ProfileNameWrong) as caught, held_profile(settings, name):
        pass

    assert caught.value.message == (
        f"the profile name {json.dumps(name)} is not usable; take 1 to 40 of a-z, 0-9 and hyphens, such as work-1"
    )
    assert not settings.state_dir.exists()


@pytest.mark.parametrize("name", ["a", "work-1", "0" * 40])
def test_usable_names(settings: Settings, name: str) -> None:
    assert profile_folder(settings, name) == settings.state_dir / "profiles" / name


@pytest.mark.parametrize("linked", ["profiles", "profiles/work", "profiles/work.lock"])
def test_a_link_to_somebody_elses_profile_is_refused(
    settings: Settings, folder: Path, tmp_path: Path, linked: str
) -> None:
    elsewhere = tmp_path / "chrome"
    elsewhere.mkdir(mode=0o755)
    link = settings.state_dir / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere if linked != "profiles/work.lock" else tmp_path / "file")

    with pytest.raises(SetupError, match="cannot be used: "), held_profile(settings, "work"):
        pass

    assert (elsewhere.stat().st_mode & 0o777, sorted(path.name for path in tmp_path.iterdir())) == (
        0o755,
        ["chrome", "state"],
    )


def test_a_state_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "state").touch()

    with pytest.raises(SetupError) as caught, held_profile(Settings(state_dir=tmp_path / "state"), "work"):
        pass

    assert (
        caught.value.message == f'the profile folder "{tmp_path}/state/profiles/work" cannot be used: Not a directory'
    )


def test_two_hosts_on_one_profile(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {**os.environ, "AXTRIAL_STATE_DIR": str(settings.state_dir), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOST]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(ProfileInUse) as caught, held_profile(settings, "work"):
            pass
        with held_profile(settings, "other"):
            pass
        other.kill()
        other.wait(BOUND_S)
        with held_profile(settings, "work"):
            pass

    assert caught.value.message == (
        f'the profile "work" is in use by another host (process {other.pid}); stop that one, or take another profile'
    )


def mark(folder: Path, owner: str) -> None:
    """The marks of a Chrome that uses the profile, or did."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in (("Lock", owner), ("Cookie", "123"), ("Socket", "/none/SingletonSocket")):
        (folder / f"Singleton{name}").symlink_to(target)


@pytest.mark.parametrize("owner", ["{host}-{dead}", "{host}-{other}", "elsewhere-{other}", "nonsense", "{host}-0"])
def test_marks_of_a_dead_chrome_are_removed(settings: Settings, folder: Path, owner: str) -> None:
    # `other` lives, and is no Chrome of this profile: the number is used again.
    with subprocess.Popen(["sleep", "1000"]) as dead:
        dead.kill()
    mark(folder, owner.format(host=os.uname().nodename, dead=dead.pid, other=os.getpid()))

    with held_profile(settings, "work"):
        assert list(folder.iterdir()) == []


def test_a_living_chrome_on_it_is_left_alone(settings: Settings, folder: Path) -> None:
    stand_in = ["/bin/sh", "-c", "read line", "chrome", f"--user-data-dir={folder}"]
    with subprocess.Popen(stand_in, stdin=subprocess.PIPE) as chrome:
        mark(folder, f"{os.uname().nodename}-{chrome.pid}")
        with pytest.raises(ProfileInUse) as caught, held_profile(settings, "work"):
            pass
        assert (folder / "SingletonLock").is_symlink()
        chrome.kill()
    with held_profile(settings, "work"):
        pass

    assert caught.value.message == (
        f'the profile "work" is in use by a Chrome (process {chrome.pid}); close it, or take another'
    )


# ---- with a real Chrome ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def chrome() -> Found:
    return find_chrome(load_settings())


@pytest.fixture
def own_temp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp folder that no other test sweeps; at the end of the test it is empty."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert list(Path(name).iterdir()) == []


WRITE = "localStorage.setItem('note', location.pathname)"


async def evaluate(link: ClientConnection, address: str, script: str) -> object:
    """What the script gives on a page in a new tab."""

    async def send(method: str, session: str | None, **params: object) -> dict[str, Any]:
        named = {} if session is None else {"sessionId": session}
        await link.send(json.dumps({"id": 1, "method": method, "params": params, **named}))
        while (answer := json.loads(await link.recv())).get("id") != 1:
            pass
        return dict(answer["result"])

    made = await send("Target.createTarget", None, url="about:blank")
    session = (await send("Target.attachToTarget", None, targetId=made["targetId"], flatten=True))["sessionId"]
    await send("Page.navigate", session, url=address)  # answers once the page has replaced the blank one
    said = await send("Runtime.evaluate", session, expression=script, returnByValue=True)
    assert "exceptionDetails" not in said
    return said["result"].get("value")


class Storage:
    """The local storage of one page, in a Chrome of the target."""

    def __init__(self, target: Target, settings: Settings, address: str) -> None:
        self._target = target
        self._settings = settings
        self._address = address

    @asynccontextmanager
    async def written(self) -> AsyncIterator[Endpoint]:
        """A Chrome in which the page has just stored its path."""
        async with self._target(self._settings) as endpoint, connect(endpoint.browser_ws) as link:
            await evaluate(link, self._address, WRITE)
            yield endpoint

    async def read(self) -> object:
        """What the page finds; None: nothing."""
        async with self._target(self._settings) as endpoint, connect(endpoint.browser_ws) as link:
            return await evaluate(link, self._address, "localStorage.getItem('note')")


@pytest.fixture
def storage(settings: Settings, chrome: Found, case_pages: str, own_temp: Path) -> Storage:
    return Storage(partial(local, chrome=chrome, profile="work"), settings, f"{case_pages}/alerts.html")


@pytest.mark.browser
async def test_what_was_stored_a_moment_before_the_stop_is_there_again(storage: Storage, folder: Path) -> None:
    async with storage.written() as endpoint:
        assert endpoint.profile == folder

    assert await storage.read() == "/alerts.html"


@pytest.mark.browser
async def test_a_chrome_that_is_killed_after_the_write_has_not_kept_it(storage: Storage, folder: Path) -> None:
    async with storage.written() as endpoint:
        process = psutil.Process(endpoint.pid)
        os.killpg(endpoint.pid, signal.SIGKILL)  # with its storage process, which else may still write
        process.wait(BOUND_S)

    assert (folder / "SingletonLock").is_symlink()
    assert await storage.read() is None


@pytest.mark.browser
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a foreign process's end by a Linux call")
async def test_a_killed_hosts_chrome_ends_in_good_order(
    storage: Storage, settings: Settings, case_pages: str, own_temp: Path
) -> None:
    variables = {"AXTRIAL_STATE_DIR": str(settings.state_dir), "TMPDIR": str(own_temp), "PYTHONPATH": str(ROOT)}
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHROME_HOST, env={**os.environ, **variables}, stdout=subprocess.PIPE
    )
    assert host.stdout is not None
    pid, browser_ws = (await host.stdout.readline()).decode().split()
    async with connect(browser_ws) as link:
        await evaluate(link, f"{case_pages}/alerts.html", WRITE)
    ending = os.pidfd_open(int(pid))
    host.kill()
    await host.wait()
    gone, _, _ = await asyncio.to_thread(select.select, [ending], [], [], BOUND_S)
    os.close(ending)

    assert gone == [ending]
    assert await storage.read() == "/alerts.html"


@pytest.mark.browser
async def test_another_profile_and_none_at_all_know_nothing_of_it(
    storage: Storage, settings: Settings, chrome: Found, case_pages: str
) -> None:
    async with storage.written():
        pass
    for target in (partial(local, chrome=chrome, profile="other"), partial(local, chrome=chrome)):
        assert await Storage(target, settings, f"{case_pages}/alerts.html").read() is None


@pytest.mark.browser
async def test_a_second_chrome_on_the_profile_is_refused(storage: Storage) -> None:
    async with storage.written():
        with pytest.raises(ProfileInUse, match=r'^the profile "work" is in use by another host \(process \d+\); stop'):
            await storage.read()
