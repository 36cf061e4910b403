"""Only a binary whose digest, run bit and own version agree with the pin is found; all else is refused with both."""

import hashlib
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config import Settings
from harness.drivers import native_pin
from harness.drivers.native_pin import PIN, NativeBinary, NativeInTheWay, Pin, find_native, native_platform
from harness.errors import NativeMismatch, NativeMissing, NativeUnsupported

REMEDY = "run: axtrial setup --driver agent-browser"

Place = Callable[[str], Pin]


@pytest.fixture(autouse=True)
def this_is_linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no ldd there


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent-browser" / "9.8.7" / "agent-browser"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache_dir=tmp_path)


@pytest.fixture
def place(path: Path) -> Place:
    """Put a shell script in the binary's place; gives the pin that it agrees with."""

    def put(script: str) -> Pin:
        data = f"#!/bin/sh\n{script}\n".encode()
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        path.chmod(0o755)
        return Pin(version="9.8.7", integrity="", sha256={"linux-x64": hashlib.sha256(data).hexdigest()})

    return put


def test_one_that_agrees_is_found(place: Place, path: Path, settings: Settings) -> None:
    pin = place("echo agent-browser 9.8.7")
    assert find_native(settings, pin) == NativeBinary(
        path=path, version="9.8.7", sha256=pin.sha256["linux-x64"], platform="linux-x64"
    )


def test_it_is_asked_in_an_environment_from_scratch(
    place: Place, path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_BROWSER_DAEMON", "")
    monkeypatch.setenv("AGENT_BROWSER_CDP", "9222")
    pin = place('echo agent-browser 9.8.7 "${AGENT_BROWSER_DAEMON+set}${AGENT_BROWSER_CDP+set}"')
    assert find_native(settings, pin).path == path


def test_missing(settings: Settings, path: Path) -> None:
    pin = Pin(version="9.8.7", integrity="", sha256={"linux-x64": "0"})
    with pytest.raises(NativeMissing) as raised:
        find_native(settings, pin)
    assert raised.value.message == f'agent-browser 9.8.7 is not in "{path}"; {REMEDY}'


def test_a_folder_in_its_place(settings: Settings, path: Path) -> None:
    path.mkdir(parents=True)
    pin = Pin(version="9.8.7", integrity="", sha256={"linux-x64": "0"})
    with pytest.raises(NativeInTheWay) as raised:
        find_native(settings, pin)
    assert raised.value.message == (
        f'"{path}" is a folder, where the binary of agent-browser 9.8.7 belongs; remove it, then {REMEDY}'
    )


def test_not_to_be_read(settings: Settings, path: Path) -> None:
    path.parent.parent.mkdir(parents=True)
    path.parent.touch()
    pin = Pin(version="9.8.7", integrity="", sha256={"linux-x64": "0"})
    with pytest.raises(NativeMissing) as raised:
        find_native(settings, pin)
    assert raised.value.message == f'"{path}" cannot be read: Not a directory; {REMEDY}'


def test_another_digest(place: Place, settings: Settings, path: Path) -> None:
    is_now = place("echo agent-browser 9.8.7; touch ran").sha256["linux-x64"]
    with pytest.raises(NativeMismatch) as raised:
        find_native(settings, Pin(version="9.8.7", integrity="", sha256={"linux-x64": "ab12"}))
    assert raised.value.message == (
        f'"{path}" has the sha256 {is_now}, the pin for agent-browser 9.8.7 on linux-x64 is ab12; {REMEDY}'
    )


def test_no_run_bit(place: Place, settings: Settings, path: Path) -> None:
    pin = place("echo agent-browser 9.8.7")
    path.chmod(0o644)
    with pytest.raises(NativeMismatch) as raised:
        find_native(settings, pin)
    assert raised.value.message == f'"{path}" has the mode 0644, agent-browser needs the run bit (0755); {REMEDY}'


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo agent-browser 9.8.6", 'printed "agent-browser 9.8.6"'),
        ("echo agent-browser 9.8.70", 'printed "agent-browser 9.8.70"'),
        (":", 'printed ""'),
        ("echo libc too old >&2; exit 1", 'ended with exit code 1 and "libc too old"'),
        ("echo agent-browser 9.8.7; exit 3", 'ended with exit code 3 and "agent-browser 9.8.7"'),
    ],
)
def test_another_version(place: Place, settings: Settings, path: Path, script: str, said: str) -> None:
    pin = place(script)
    with pytest.raises(NativeMismatch) as raised:
        find_native(settings, pin)
    assert raised.value.message == f'"{path}": --version {said}, the pin is "agent-browser 9.8.7"'


def test_one_that_hangs(place: Place, settings: Settings, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_pin, "VERSION_TIMEOUT_S", 0.2)
    pin = place("exec /bin/sleep 60")
    with pytest.raises(NativeMismatch) as raised:
        find_native(settings, pin)
    assert raised.value.message == f'"{path}": --version did not end within 0.2 s, the pin is "agent-browser 9.8.7"'


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("linux", "x86_64", "linux-x64"),
        ("linux", "aarch64", "linux-arm64"),
        ("darwin", "x86_64", "darwin-x64"),
        ("darwin", "arm64", "darwin-arm64"),
        ("win32", "AMD64", "win32-x64"),
        ("win32", "ARM64", "win32-x64"),
    ],
)
def test_platforms(monkeypatch: pytest.MonkeyPatch, system: str, machine: str, name: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert native_platform() == name


@pytest.mark.parametrize(
    ("ldd", "name"),
    [
        ("echo 'musl libc (x86_64)' >&2; exit 1", "linux-musl-x64"),
        ("echo 'ldd (Debian GLIBC 2.36-9) 2.36'", "linux-x64"),
    ],
)
def test_the_c_library_is_asked(tmp_path: Path, ldd: str, name: str) -> None:
    program = tmp_path / "bin" / "ldd"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{ldd}\n")
    program.chmod(0o755)
    assert native_platform() == name


def test_no_binary_for_a_platform(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(NativeUnsupported) as raised:
        find_native(settings)
    assert raised.value.message == (
        f'agent-browser 0.41.2 has no binary for "linux-riscv64"; there are {", ".join(sorted(PIN.sha256))}'
    )
