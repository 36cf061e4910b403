"""A window is refused in one sentence where there is no display, and shown where there is one."""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from harness.config import Settings, load_settings
from harness.errors import TargetError
from harness.targets import display
from harness.targets.chrome import Found, find_chrome
from harness.targets.display import NoDisplay, find_screen
from harness.targets.local import local

XVFB = shutil.which("Xvfb")
BOUND_S = 20.0
REMEDY = "start this in a desktop session, or under xvfb-run (on Debian in the package xvfb), or leave the window out"

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="no variables name the screen here")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, for sockets, which is also the temp folder; at the end of the test it is empty."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        monkeypatch.setattr(display, "X_SOCKETS", f"{name}/X")
        yield Path(name)
        assert list(Path(name).iterdir()) == []


@pytest.fixture
def listener(folder: Path) -> Iterator[str]:
    """The path of a socket that takes connections."""
    path = str(folder / "X7")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        yield path
    Path(path).unlink()


@pytest.fixture
def headed_chrome(folder: Path, tmp_path: Path) -> Found:
    """A stand-in that notes that it was started, and then ends as Chrome does that a display has turned away."""
    path = tmp_path / "chrome"
    path.write_text(
        f"#!/bin/sh\ntouch {tmp_path}/started\necho '[1:1:ERROR] Missing X server or $DISPLAY' >&2\n"
        "echo 'The platform failed to initialize.  Exiting.' >&2\nexit 1\n"
    )
    path.chmod(0o755)
    return Found(path=path, version="1.0", source="setting")


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({}, "neither DISPLAY nor WAYLAND_DISPLAY is set"),
        ({"DISPLAY": "", "WAYLAND_DISPLAY": ""}, "neither DISPLAY nor WAYLAND_DISPLAY is set"),
        ({"DISPLAY": ":8.0"}, 'DISPLAY ":8.0" cannot be reached'),
        ({"DISPLAY": f":{'9' * 4}"}, 'DISPLAY ":9999" cannot be reached'),
        ({"WAYLAND_DISPLAY": "wayland-0"}, 'WAYLAND_DISPLAY "wayland-0" cannot be reached'),
        (
            {"DISPLAY": "unix:8", "WAYLAND_DISPLAY": "/none/\x1b\0"},
            'DISPLAY "unix:8" and WAYLAND_DISPLAY "/none/\\u001b\\u0000" cannot be reached',
        ),
        (
            {"WAYLAND_DISPLAY": "w" * 300, "XDG_RUNTIME_DIR": "/tmp"},
            f'WAYLAND_DISPLAY "{"w" * 200}"... cannot be reached',
        ),
    ],
)
def test_no_display(folder: Path, environment: dict[str, str], why: str) -> None:
    with pytest.raises(NoDisplay) as caught:
        find_screen(environment)

    assert caught.value.message == f"a window (--headed, AXTRIAL_HEADED) needs a display, and {why}; {REMEDY}"
    assert isinstance(caught.value, TargetError)


def test_a_display_that_takes_connections(listener: str, folder: Path) -> None:
    wayland = {"WAYLAND_DISPLAY": "X7", "XDG_RUNTIME_DIR": str(folder)}

    assert [
        find_screen({"DISPLAY": ":7"}),
        find_screen({"DISPLAY": "unix:7.1", **wayland}),
        find_screen(wayland),
        find_screen({"DISPLAY": ":8", "WAYLAND_DISPLAY": listener}),
        find_screen({"DISPLAY": "a form / that :is not known"}),
    ] == ["x11", "x11", "wayland", "wayland", "x11"]


def test_a_display_over_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(display, "X_PORT", server.getsockname()[1] - 3)

        assert find_screen({"DISPLAY": "127.0.0.1:3"}) == "x11"
    with pytest.raises(NoDisplay):
        find_screen({"DISPLAY": "127.0.0.1:3"})


def test_elsewhere_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")

    assert find_screen({}) is None


async def test_without_a_display_chrome_is_not_started(
    headed_chrome: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    with pytest.raises(NoDisplay):
        async with local(Settings(headed=True), chrome=headed_chrome):
            pass

    assert not (tmp_path / "started").exists()


async def test_a_display_that_turns_chrome_away(
    headed_chrome: Found, listener: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":7")

    with pytest.raises(NoDisplay) as caught:
        async with local(Settings(headed=True), chrome=headed_chrome):
            pass

    assert (tmp_path / "started").exists()
    assert caught.value.message == (
        "a window (--headed, AXTRIAL_HEADED) needs a display, "
        f"and the display that is there takes no window of this user; {REMEDY}"
    )


@pytest.fixture
def xvfb(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a virtual display of its own."""
    if XVFB is None:
        pytest.skip("needs Xvfb; as root on Debian run: apt-get install -y --no-install-recommends xvfb")
    monkeypatch.setattr(display, "X_SOCKETS", "/tmp/.X11-unix/X")
    command = [XVFB, "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield f":{server.stdout.readline().strip()}"
        finally:
            server.terminate()
            server.wait(BOUND_S)


@pytest.mark.browser
async def test_a_real_window(xvfb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", xvfb)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    settings = load_settings({"headed": True})
    async with local(settings, chrome=find_chrome(settings)) as endpoint, connect(endpoint.browser_ws) as link:
        await link.send(json.dumps({"id": 1, "method": "Browser.getVersion"}))
        answer = json.loads(await link.recv())["result"]

    assert ("Headless" in answer["userAgent"], answer["product"]) == (False, f"Chrome/{endpoint.browser_version}")
