"""The native driver agent-browser: which one exactly, and proof that the one in the cache is it.

Invariant: a `NativeBinary` exists only after its sha256, its run bit and its own `--version` agreed with the pin.
Blocking, some 50 ms: call it from a thread where an event loop runs.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.config import Settings, child_environment, whole_environment
from harness.errors import NativeMismatch, NativeMissing, NativeUnsupported, quoted
from harness.quick import run_bounded

NAME = "agent-browser"
SETUP_COMMAND = "axtrial setup --driver agent-browser"

VERSION_TIMEOUT_S = 10.0
"""Seconds for `--version`: it takes 0.01 s, and some seconds on the first start from a slow disk."""

LDD_TIMEOUT_S = 5.0
"""Seconds for `ldd --version`, a shell script."""

_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class NativeInTheWay(NativeMissing):
    """A folder stands where the native driver's binary belongs; nothing removes it but the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One version of the package: its integrity as npm writes it, and the sha256 (hex) of the binary by platform."""

    version: str
    integrity: str
    sha256: Mapping[str, str]


PIN = Pin(
    version="0.41.2",
    integrity="sha512-/agCKB5rw1EEK8SKWo4zid7a5kOwlclqALC0P3c69buJvKdhrl/dJkKdfLqGGaiNIbWzRdqqT0PxZVkwVEf2fg==",
    # The package ships no digests: these are of the files in the package with the integrity above.
    sha256={
        "linux-x64": "c4351f3802ffa5254d8c69f20a52e2fcf56925c6016fcf4203db25a07d811379",
        "linux-arm64": "00d291f45e1c4d527b3aa08c70c54c7c3030fde0794f8d4575aaa3ca1680f728",
        "linux-musl-x64": "5d452d57772330fe4cef9b7aeb5e7137890dde20bbb65e82b990e0bc0b35d9cd",
        "linux-musl-arm64": "730a5168153e27ad1243ebe960157e69de0f24531fbbac9a040856a491bf491f",
        "darwin-x64": "fc55608c2222650e6e0d0154f9edebd203b63bf853b85d22240bfbddbb006ea1",
        "darwin-arm64": "19680f06cf87d0095c318a2e80bea6b71523d95d3b651cd18d81885cd182477a",
        "win32-x64": "c2eadee7b67e326dfff02d5dd51a16ce7673eb165699d134b3ea5f05b4a7a9d0",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeBinary:
    """A binary that agreed with the pin, and the package's name of its platform, such as `linux-x64`."""

    path: Path
    version: str
    sha256: str
    platform: str


def find_native(settings: Settings, pin: Pin = PIN) -> NativeBinary:
    """The pinned binary in the cache folder.

    Raises:
        NativeUnsupported: the package holds no binary for this platform.
        NativeMissing: it is not in the cache, or cannot be read there.
        NativeInTheWay: a folder stands in its place.
        NativeMismatch: digest, run bit or `--version` is not what the pin says; the sentence names both.
    """
    name = native_platform(pin)
    path = native_path(settings, pin)
    refuse_folder(path, pin)
    try:
        digest = file_sha256(path)
    except FileNotFoundError as error:
        raise NativeMissing(f"{NAME} {pin.version} is not in {quoted(str(path))}; run: {SETUP_COMMAND}") from error
    except OSError as error:
        raise NativeMissing(f"{quoted(str(path))} cannot be read: {error.strerror}; run: {SETUP_COMMAND}") from error
    if digest != pin.sha256[name]:
        raise NativeMismatch(
            f"{quoted(str(path))} has the sha256 {digest}, "
            f"the pin for {NAME} {pin.version} on {name} is {pin.sha256[name]}; run: {SETUP_COMMAND}"
        )
    if not os.access(path, os.X_OK):
        mode = path.stat().st_mode & 0o777
        raise NativeMismatch(
            f"{quoted(str(path))} has the mode {mode:04o}, {NAME} needs the run bit (0755); run: {SETUP_COMMAND}"
        )
    _check_version(path, pin)
    return NativeBinary(path=path, version=pin.version, sha256=digest, platform=name)


def native_path(settings: Settings, pin: Pin = PIN) -> Path:
    """Where the pinned binary stands, or would stand."""
    return settings.cache_dir / NAME / pin.version / (f"{NAME}.exe" if sys.platform == "win32" else NAME)


def refuse_folder(path: Path, pin: Pin = PIN) -> None:
    """Nothing, unless a folder stands in the binary's place.

    Raises:
        NativeInTheWay: one does; the sentence says what to do.
    """
    if path.is_dir():
        raise NativeInTheWay(
            f"{quoted(str(path))} is a folder, where the binary of {NAME} {pin.version} belongs; "
            f"remove it, then run: {SETUP_COMMAND}"
        )


def native_platform(pin: Pin = PIN) -> str:
    """The package's name of this machine's platform.

    Raises:
        NativeUnsupported: the package holds no binary for it.
    """
    machine = platform.machine().lower()
    processor = _MACHINES.get(machine, machine)
    system = sys.platform
    if system == "win32" and processor == "arm64":
        processor = "x64"  # Windows runs it in emulation; the package has no other
    if system == "linux" and _is_musl():
        system = "linux-musl"
    name = f"{system}-{processor}"
    if name not in pin.sha256:
        raise NativeUnsupported(
            f"{NAME} {pin.version} has no binary for {quoted(name)}; there are {', '.join(sorted(pin.sha256))}"
        )
    return name


def file_sha256(path: Path) -> str:
    """The file's sha256 in hex.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_musl() -> bool:
    """Whether the machine's C library is musl, whose `ldd --version` fails and says so on stderr."""
    answer = run_bounded(["ldd", "--version"], whole_environment(), LDD_TIMEOUT_S)
    return "musl" in answer.stdout + answer.stderr


def _check_version(path: Path, pin: Pin) -> None:
    # From scratch: with AGENT_BROWSER_DAEMON set, to whatever value, the binary would stay as a daemon.
    answer = run_bounded([str(path), "--version"], child_environment(path.parent, path.parent), VERSION_TIMEOUT_S)
    wanted = f"{NAME} {pin.version}"
    said = answer.stdout.strip()
    if answer.code == 0 and said == wanted:
        return
    if answer.fault is not None:
        what = f"--version {answer.fault}"
    elif answer.code == 0:
        what = f"--version printed {quoted(said)}"
    else:
        what = f"--version ended with exit code {answer.code} and {quoted(answer.stderr.strip() or said)}"
    raise NativeMismatch(f"{quoted(str(path))}: {what}, the pin is {quoted(wanted)}")
