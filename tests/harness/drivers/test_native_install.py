"""The package is fetched by npm, checked and dropped again; nothing but the pinned binary ever reaches the cache."""

import asyncio
import base64
import hashlib
import io
import json
import os
import platform
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from harness.config import Settings, whole_environment
from harness.drivers import native_install
from harness.drivers.native_install import install_native
from harness.drivers.native_pin import PIN, NativeBinary, Pin, find_native, native_platform
from harness.errors import NativeMismatch, SetupError
from harness.quick import run_bounded

NPM = shutil.which("npm")
BINARY = b"#!/bin/sh\necho agent-browser 9.8.7\n"
MEMBER = "package/bin/agent-browser-linux-x64"
MANIFEST = json.dumps({"name": "agent-browser", "version": "9.8.7", "bin": {"agent-browser": "bin/x.js"}}).encode()
FETCHING = "fetching agent-browser 9.8.7 with `npm pack` (54 MB, at most 180 s)"


def packed(binary: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in ((MEMBER, binary), ("package/package.json", MANIFEST)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def pin_of(package: bytes, binary: bytes = BINARY) -> Pin:
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(package).digest()).decode()}"
    return Pin(version="9.8.7", integrity=integrity, sha256={"linux-x64": hashlib.sha256(binary).hexdigest()})


class Npm:
    """A program `npm`, alone in PATH, that notes its calls and brings a prepared package; and an empty cache."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.path = settings.cache_dir / "agent-browser" / "9.8.7" / "agent-browser"
        self.lines: list[str] = []
        self.package = packed(BINARY)
        self.write('/bin/cp "$0.tgz" agent-browser-9.8.7.tgz')

    def write(self, script: str) -> None:
        self.folder.mkdir(exist_ok=True)
        program = self.folder / "npm"
        program.write_text(f'#!/bin/sh\necho "$@" >> "$0.calls"\necho $$ > "$0.pid"\n{script}\n')
        program.chmod(0o755)
        (self.folder / "npm.tgz").write_bytes(self.package)

    async def install(self, pin: Pin) -> NativeBinary:
        return await install_native(self.settings, self.lines.append, pin)

    @property
    def calls(self) -> list[str]:
        file = self.folder / "npm.calls"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Npm]:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    temp = tmp_path / "temp"
    temp.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temp))
    yield Npm(tmp_path / "bin", Settings(cache_dir=tmp_path / "cache"))
    assert list(temp.iterdir()) == []


def kept(settings: Settings) -> list[str]:
    """All files in the cache."""
    return sorted(str(file.relative_to(settings.cache_dir)) for file in settings.cache_dir.rglob("*") if file.is_file())


async def test_the_binary_alone_is_kept(npm: Npm) -> None:
    pin = pin_of(npm.package)
    found = await npm.install(pin)

    assert found == NativeBinary(path=npm.path, version="9.8.7", sha256=pin.sha256["linux-x64"], platform="linux-x64")
    assert (npm.path.read_bytes(), npm.path.stat().st_mode & 0o777, npm.path.parent.stat().st_mode & 0o777) == (
        BINARY,
        0o755,
        0o700,
    )
    assert (kept(npm.settings), npm.lines) == (["agent-browser/9.8.7/agent-browser"], [FETCHING])
    (call,) = npm.calls
    assert call.split()[:4] == ["pack", "agent-browser@9.8.7", "--json", "--ignore-scripts"]


async def test_a_second_installation_does_nothing(npm: Npm) -> None:
    pin = pin_of(npm.package)
    first = await npm.install(pin)
    written = npm.path.stat().st_mtime_ns
    (npm.folder / "npm").unlink()

    assert (await npm.install(pin), npm.path.stat().st_mtime_ns, npm.lines) == (first, written, [FETCHING])


async def test_a_missing_run_bit_is_set_without_a_download(npm: Npm) -> None:
    pin = pin_of(npm.package)
    first = await npm.install(pin)
    npm.path.chmod(0o644)

    assert (await npm.install(pin), npm.path.stat().st_mode & 0o777, len(npm.calls)) == (first, 0o755, 1)


async def test_a_wrong_file_is_replaced_and_halves_are_removed(npm: Npm) -> None:
    npm.path.parent.mkdir(parents=True)
    npm.path.write_bytes(b"damaged")
    for name, age in ((".new-old", 7200.0), (".new-fresh", 0.0)):
        half = npm.path.parent / name
        half.touch()
        os.utime(half, (time.time() - age, time.time() - age))

    await npm.install(pin_of(npm.package))

    assert (npm.path.read_bytes(), kept(npm.settings)) == (
        BINARY,
        ["agent-browser/9.8.7/.new-fresh", "agent-browser/9.8.7/agent-browser"],
    )


async def test_a_folder_in_its_place_is_told_before_anything_is_fetched(npm: Npm) -> None:
    (npm.path / "inside").mkdir(parents=True)
    with pytest.raises(SetupError) as raised:
        await npm.install(pin_of(npm.package))
    assert (raised.value.message, npm.lines, (npm.path / "inside").is_dir()) == (
        f'"{npm.path}" is a folder, where the binary of agent-browser 9.8.7 belongs; '
        "remove it, then run: axtrial setup --driver agent-browser",
        [],
        True,
    )


INSTALLS = """
import asyncio, platform, sys
from pathlib import Path
from harness.config import Settings
from harness.drivers.native_install import install_native
from harness.drivers.native_pin import Pin
sys.platform, platform.machine = "linux", lambda: "x86_64"
pin = Pin(version="9.8.7", integrity=sys.argv[2], sha256={"linux-x64": sys.argv[3]})
sys.stdin.read()
print(asyncio.run(install_native(Settings(cache_dir=Path(sys.argv[1])), lambda line: None, pin)).path)
"""


async def test_processes_that_install_at_the_same_time(npm: Npm) -> None:
    pin = pin_of(npm.package)
    argv = (sys.executable, "-c", INSTALLS, str(npm.settings.cache_dir), pin.integrity, pin.sha256["linux-x64"])
    environment = {**whole_environment(), "TMPDIR": tempfile.gettempdir()}
    pipe = asyncio.subprocess.PIPE
    started = [
        await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        for _ in range(4)
    ]
    said = await asyncio.gather(*(process.communicate(b"") for process in started))
    assert said == [(f"{npm.path}\n".encode(), b"")] * 4
    assert (npm.path.read_bytes(), kept(npm.settings)) == (BINARY, ["agent-browser/9.8.7/agent-browser"])


async def test_a_wrong_package_leaves_nothing(npm: Npm) -> None:
    pin = pin_of(npm.package)
    with pytest.raises(SetupError) as raised:
        await npm.install(replace(pin, integrity="sha512-AAAA"))
    sentence = f"the package agent-browser has the integrity {pin.integrity}, the pin is sha512-AAAA"
    assert (raised.value.message, kept(npm.settings)) == (sentence, [])


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            """echo '{"error": {"code": "E404", "summary": "Not Found", "detail": ""}}'; echo log >&2; exit 1""",
            'npm pack ended with exit code 1: "Not Found"',
        ),
        ("echo npm error: disk full >&2; exit 7", 'npm pack ended with exit code 7: "npm error: disk full"'),
        ("echo '[]'", "npm pack ended well and yet left no agent-browser-9.8.7.tgz"),
    ],
)
async def test_npm_fails(npm: Npm, script: str, sentence: str) -> None:
    npm.write(script)
    with pytest.raises(SetupError) as raised:
        await npm.install(pin_of(npm.package))
    assert (raised.value.message, kept(npm.settings)) == (sentence, [])


async def test_npm_hangs(npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    npm.write("echo waiting >&2; exec /bin/sleep 60")
    monkeypatch.setattr(native_install, "NPM_S", 2.0)
    with pytest.raises(SetupError) as raised:
        await npm.install(pin_of(npm.package))
    sentence = 'npm pack did not end within 2 s; its last line: "waiting"'
    assert (raised.value.message, kept(npm.settings)) == (sentence, [])
    assert not psutil.pid_exists(int((npm.folder / "npm.pid").read_text()))


@pytest.mark.parametrize(
    ("apt", "remedy"),
    [
        (True, "as root run: apt-get install -y npm"),
        (False, "install Node.js from nodejs.org, which brings npm"),
    ],
)
async def test_no_npm(npm: Npm, apt: bool, remedy: str) -> None:
    (npm.folder / "npm").rename(npm.folder / ("apt-get" if apt else "other"))
    with pytest.raises(SetupError) as raised:
        await npm.install(pin_of(npm.package))
    assert raised.value.message == f"npm, which fetches agent-browser, is not in PATH; {remedy}"


async def test_no_binary_for_this_platform(npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(SetupError) as raised:
        await npm.install(pin_of(npm.package))
    assert raised.value.message == 'agent-browser 9.8.7 has no binary for "linux-riscv64"; there are linux-x64'


async def test_a_cache_that_cannot_be_written(npm: Npm) -> None:
    npm.settings.cache_dir.mkdir()
    (npm.settings.cache_dir / "agent-browser").touch()
    with pytest.raises(SetupError) as raised:
        await npm.install(pin_of(npm.package))
    assert raised.value.message == f'"{npm.path}" cannot be read: Not a directory'


async def test_the_pinned_binary_says_that_it_is_another(npm: Npm) -> None:
    binary = b"#!/bin/sh\necho agent-browser 9.8.6\n"
    package = packed(binary)
    (npm.folder / "npm.tgz").write_bytes(package)
    for _ in range(2):  # the second time it is not fetched again: that would bring the same
        with pytest.raises(NativeMismatch) as raised:
            await npm.install(pin_of(package, binary))
        assert raised.value.message == (
            f'"{npm.path}": --version printed "agent-browser 9.8.6", the pin is "agent-browser 9.8.7"'
        )
    assert len(npm.calls) == 1


@pytest.mark.skipif(NPM is None, reason="npm is not installed")
@pytest.mark.timeout(300)
async def test_the_real_package(tmp_path: Path) -> None:
    argv = [NPM or "", "view", f"agent-browser@{PIN.version}", "dist.integrity", *native_install.NPM_FLAGS]
    answer = run_bounded(argv, whole_environment(), 60.0)
    if answer.code != 0:
        pytest.skip("npm reaches no registry")
    assert answer.stdout.strip() == PIN.integrity

    settings = Settings(cache_dir=tmp_path)
    lines: list[str] = []
    found = await install_native(settings, lines.append)

    name = native_platform()
    path = tmp_path / "agent-browser" / PIN.version / "agent-browser"
    assert found == NativeBinary(path=path, version="0.41.2", sha256=PIN.sha256[name], platform=name)
    assert (find_native(settings), kept(settings)) == (found, [f"agent-browser/{PIN.version}/agent-browser"])
