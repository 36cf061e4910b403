"""Bringing the pinned native driver: fetched by the npm client, checked, one binary kept, nothing else.

Invariants: nothing of the package runs before its integrity and the binary's digest agreed with the pin; the binary
appears whole, by a rename, so installations beside each other do not see halves; npm works in a private folder that is
gone afterwards, with its cache.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable
from gzip import BadGzipFile
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.config import Settings, Surroundings, surroundings, whole_environment
from harness.drivers.native_pin import (
    NAME,
    PIN,
    NativeBinary,
    Pin,
    file_sha256,
    find_native,
    native_path,
    native_platform,
)
from harness.errors import NativeUnsupported, ProcessNotStarted, SetupError, quoted
from harness.process import Command, owned_process, private_folder

NPM_S = 180.0
"""Seconds for the download of 54 MB; without a network npm fails in seconds, behind a silent wall never."""

NPM_FLAGS = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000")
"""npm's own default is to wait for a minute before it says that there is no network."""

MAX_PACKAGE_BYTES = 128 * 1024 * 1024
"""Of the packed package, which has 54 MB."""

MAX_BINARY_BYTES = 64 * 1024 * 1024
"""Of one unpacked binary; the largest has 18 MB."""

MAX_MANIFEST_BYTES = 256 * 1024
"""Of the package's package.json, which has 2.5 kB."""

ABANDONED_S = 3600.0
"""Age at which a half-written binary belongs to no installation that still runs."""


class _Manifest(BaseModel):
    """What is read of package.json; it has many more keys, which do not concern us."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    name: str
    version: str


async def install_native(settings: Settings, report: Callable[[str], None], pin: Pin = PIN) -> NativeBinary:
    """Put the pinned binary into the cache folder; does nothing where it is there and right, sets a missing run bit.

    `report` gets a line before the download. Takes at most about `NPM_S` seconds. Once at a time in a
    process: a program that is started while the binary is written holds the open file for a moment, in which the
    system does not run it.

    Raises:
        SetupError: no npm, no binary for this platform, the download failed or took too long, the package or the
            binary is not the pinned one, or the cache folder cannot be written.
        NativeMismatch: the binary is the pinned one and yet does not run here, or says that it is another version.
    """
    try:
        name = native_platform(pin)
    except NativeUnsupported as error:
        raise SetupError(error.message) from error
    path = native_path(settings, pin)
    if not await asyncio.to_thread(_is_file_with, path, pin.sha256[name]):
        await asyncio.to_thread(_place, path, await _fetch(name, report, pin))
    elif not os.access(path, os.X_OK):
        try:
            path.chmod(0o755)
        except OSError as error:
            raise SetupError(f"the run bit of {quoted(str(path))} cannot be set: {error.strerror}") from error
    return await asyncio.to_thread(find_native, settings, pin)


def find_npm(around: Surroundings) -> str:
    """The npm client's path.

    Raises:
        SetupError: it is not in PATH; the sentence says how to install it.
    """
    found = shutil.which("npm", path=around.search_path) if around.search_path else None
    if found is None:
        raise SetupError(f"npm, which fetches {NAME}, is not in PATH; {npm_remedy(around)}")
    return found


def npm_remedy(around: Surroundings) -> str:
    """How npm is installed on this machine, in words."""
    apt = shutil.which("apt-get", path=around.search_path) if around.search_path else None
    if sys.platform == "linux" and apt is not None:
        return "as root run: apt-get install -y npm"
    return "install Node.js from nodejs.org, which brings npm"


def _is_file_with(path: Path, digest: str) -> bool:
    try:
        return file_sha256(path) == digest
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SetupError(f"{quoted(str(path))} cannot be read: {error.strerror}") from error


async def _fetch(name: str, report: Callable[[str], None], pin: Pin) -> bytes:
    """The platform's binary out of the package, proved to be the pinned one."""
    npm = find_npm(surroundings())
    report(f"fetching {NAME} {pin.version} with `npm pack` (54 MB, at most {NPM_S:.0f} s)")
    async with private_folder() as folder:
        await _npm_pack(npm, folder, pin)
        package = folder / f"{NAME}-{pin.version}.tgz"
        try:
            return await asyncio.to_thread(_unpack, package, name, pin)
        except FileNotFoundError as error:
            raise SetupError(f"npm pack ended well and yet left no {package.name}") from error
        except (tarfile.TarError, zlib.error, EOFError, BadGzipFile) as error:
            raise SetupError(f"the package {NAME} cannot be unpacked: {quoted(str(error))}") from error
        except OSError as error:
            raise SetupError(f"{quoted(str(package))} cannot be read: {error.strerror}") from error


async def _npm_pack(npm: str, folder: Path, pin: Pin) -> None:
    # A cache of its own: npm would keep the 54 MB in the user's for good.
    own = (f"--cache={folder / 'npm-cache'}", f"--pack-destination={folder}")
    argv = (npm, "pack", f"{NAME}@{pin.version}", "--json", "--ignore-scripts", *own, *NPM_FLAGS)
    command = Command(argv=argv, environment=whole_environment(), keep_output=True)
    try:
        async with owned_process(command, folder) as process:
            try:
                async with asyncio.timeout(NPM_S):
                    code = await process.wait()
            except TimeoutError as error:
                raise SetupError(
                    f"npm pack did not end within {NPM_S:g} s; its last line: {process.last_line()}"
                ) from error
            if code != 0:
                said = _npm_error(process.stdout) or process.last_line()
                raise SetupError(f"npm pack ended with exit code {code}: {said}")
    except ProcessNotStarted as error:
        raise SetupError(error.message) from error


def _npm_error(stdout: str) -> str | None:
    """What npm says under --json; the last lines of its stderr only tell where its log was."""
    try:
        summary = json.loads(stdout)["error"]["summary"]
    except (ValueError, KeyError, TypeError):
        return None
    return quoted(summary.strip()) if isinstance(summary, str) and summary.strip() else None


def _unpack(package: Path, name: str, pin: Pin) -> bytes:
    """Check the package, then read only two of its files, by their names; nothing is written."""
    _check_integrity(package, pin)
    member = f"package/bin/{NAME}-{name}" + (".exe" if name.startswith("win32") else "")
    binary = manifest = None
    with tarfile.open(package, mode="r|gz") as tar:
        for entry in tar:
            if entry.name == member:
                binary = _read(tar, entry, MAX_BINARY_BYTES)
            elif entry.name == "package/package.json":
                manifest = _read(tar, entry, MAX_MANIFEST_BYTES)
    _check_manifest(manifest, pin)
    if binary is None:
        raise SetupError(f"the package {NAME} {pin.version} does not hold {member}")
    digest = hashlib.sha256(binary).hexdigest()
    if digest != pin.sha256[name]:
        raise SetupError(f"{member} in the package {NAME} has the sha256 {digest}, the pin is {pin.sha256[name]}")
    return binary


def _check_integrity(package: Path, pin: Pin) -> None:
    with package.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_PACKAGE_BYTES:
            raise SetupError(f"the package {NAME} has {size} bytes, more than {MAX_PACKAGE_BYTES}")
        digest = hashlib.file_digest(file, "sha512").digest()
    integrity = f"sha512-{base64.b64encode(digest).decode('ascii')}"
    if integrity != pin.integrity:
        raise SetupError(f"the package {NAME} has the integrity {integrity}, the pin is {pin.integrity}")


def _read(tar: tarfile.TarFile, entry: tarfile.TarInfo, bound: int) -> bytes:
    # Only plain files: a link would be followed to another member.
    file: IO[bytes] | None = tar.extractfile(entry) if entry.isreg() else None
    if file is None:
        raise SetupError(f"{entry.name} in the package {NAME} is not a plain file")
    if entry.size > bound:
        raise SetupError(f"{entry.name} in the package {NAME} has {entry.size} bytes, more than {bound}")
    return file.read(bound)


def _check_manifest(manifest: bytes | None, pin: Pin) -> None:
    if manifest is None:
        raise SetupError(f"the package {NAME} {pin.version} does not hold package/package.json")
    try:
        said = _Manifest.model_validate_json(manifest)
    except ValidationError as error:
        raise SetupError(
            f"package/package.json in the package {NAME} does not decode: {error.errors()[0]['msg']}"
        ) from error
    if (said.name, said.version) != (NAME, pin.version):
        raise SetupError(
            f"the package says that it is {quoted(f'{said.name} {said.version}')}, the pin is {NAME} {pin.version}"
        )


def _place(path: Path, binary: bytes) -> None:
    folder = path.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        _remove_halves(folder)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(binary)
                file.flush()
                os.fsync(file.fileno())
            part.chmod(0o755)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise SetupError(
            f"the cache folder {quoted(str(folder))} cannot be used for {NAME}: {error.strerror}"
        ) from error


def _remove_halves(folder: Path) -> None:
    """What installations that were killed left; another installation may remove the same at the same time."""
    for half in folder.glob(".new-*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - half.stat().st_mtime > ABANDONED_S:
                half.unlink()
