"""Every package that is not the pinned one, whole, is refused before anything of it is used."""

import base64
import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.drivers import native_package
from harness.drivers.native_package import binary_in
from harness.drivers.native_pin import Pin
from harness.errors import SetupError

BINARY = b"a program"
MEMBER = "package/bin/agent-browser-linux-x64"

Member = tuple[tarfile.TarInfo, bytes]


def plain(name: str, data: bytes) -> Member:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    return entry, data


def link(name: str, to: str) -> Member:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, to
    return entry, b""


def manifest(**changed: object) -> Member:
    said = {"name": "agent-browser", "version": "9.8.7", "bin": {"agent-browser": "bin/x.js"}, **changed}
    return plain("package/package.json", json.dumps(said).encode())


def packed(*members: Member) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for entry, data in members:
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def pin_of(package: bytes) -> Pin:
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(package).digest()).decode()}"
    digest = hashlib.sha256(BINARY).hexdigest()
    return Pin(version="9.8.7", integrity=integrity, sha256={"linux-x64": digest, "win32-x64": digest})


RIGHT = plain(MEMBER, BINARY)
WHOLE = packed(plain("package/README.md", b"text"), RIGHT, manifest())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "package.tgz"


def test_the_platforms_binary(file: Path) -> None:
    others = [plain(f"package/bin/agent-browser-{name}", b"other") for name in ("linux-arm64", "linux-musl-x64")]
    package = packed(*others, manifest(), RIGHT, plain("package/bin/agent-browser-win32-x64.exe", BINARY))
    file.write_bytes(package)
    assert [binary_in(file, name, pin_of(package)) for name in ("linux-x64", "win32-x64")] == [BINARY, BINARY]


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        (
            (RIGHT, manifest(version="9.8.6")),
            'the package says that it is "agent-browser 9.8.6", the pin is agent-browser 9.8.7',
        ),
        ((RIGHT, manifest(name="x")), 'the package says that it is "x 9.8.7", the pin is agent-browser 9.8.7'),
        (
            (RIGHT, manifest(version=5)),
            "package/package.json in the package agent-browser does not decode: Input should be a valid string",
        ),
        ((RIGHT,), "the package agent-browser 9.8.7 does not hold package/package.json"),
        ((manifest(),), f"the package agent-browser 9.8.7 does not hold {MEMBER}"),
        (
            (plain(f"package/../{MEMBER}", BINARY), manifest()),
            f"the package agent-browser 9.8.7 does not hold {MEMBER}",
        ),
        ((link(MEMBER, "/bin/sh"), manifest()), f"{MEMBER} in the package agent-browser is not a plain file"),
        (
            (plain(MEMBER, b"other"), manifest()),
            f"{MEMBER} in the package agent-browser has the sha256 {hashlib.sha256(b'other').hexdigest()}, "
            f"the pin is {hashlib.sha256(BINARY).hexdigest()}",
        ),
    ],
)
def test_a_wrong_package(file: Path, members: tuple[Member, ...], sentence: str) -> None:
    package = packed(*members)
    file.write_bytes(package)
    with pytest.raises(SetupError) as raised:
        binary_in(file, "linux-x64", pin_of(package))
    assert raised.value.message == sentence


def test_another_integrity(file: Path) -> None:
    file.write_bytes(WHOLE)
    pin = pin_of(WHOLE)
    with pytest.raises(SetupError) as raised:
        binary_in(file, "linux-x64", replace(pin, integrity="sha512-AAAA"))
    assert raised.value.message == (
        f"the package agent-browser has the integrity {pin.integrity}, the pin is sha512-AAAA"
    )


@pytest.mark.parametrize(
    ("bound", "what", "size"),
    [
        ("MAX_PACKAGE_BYTES", "the package agent-browser", len(WHOLE)),
        ("MAX_BINARY_BYTES", f"{MEMBER} in the package agent-browser", len(BINARY)),
        ("MAX_MANIFEST_BYTES", "package/package.json in the package agent-browser", len(manifest()[1])),
    ],
    ids=["package", "binary", "manifest"],
)
def test_what_is_too_large(file: Path, monkeypatch: pytest.MonkeyPatch, bound: str, what: str, size: int) -> None:
    file.write_bytes(WHOLE)
    monkeypatch.setattr(native_package, bound, size)
    assert binary_in(file, "linux-x64", pin_of(WHOLE)) == BINARY
    monkeypatch.setattr(native_package, bound, size - 1)
    with pytest.raises(SetupError) as raised:
        binary_in(file, "linux-x64", pin_of(WHOLE))
    assert raised.value.message == f"{what} has {size} bytes, more than {size - 1}"


@pytest.mark.parametrize("package", [b"no archive", WHOLE[:60], b""], ids=["text", "cut", "empty"])
def test_a_damaged_package(file: Path, package: bytes) -> None:
    file.write_bytes(package)
    with pytest.raises(SetupError, match=r"^the package agent-browser cannot be unpacked: "):
        binary_in(file, "linux-x64", pin_of(package))


def test_no_package(file: Path) -> None:
    with pytest.raises(SetupError) as raised:
        binary_in(file, "linux-x64", pin_of(b""))
    assert raised.value.message == f'the package "{file}" cannot be read: No such file or directory'
