"""Bringing the pinned native driver: fetched by the npm client, checked, one binary kept, nothing else.

Invariants: nothing of the package runs before its integrity and the binary's digest agreed with the pin; the binary
appears whole, by a rename, so installations beside each other do not see halves; npm works in a private folder that is
gone afterwards, with its cache.
"""

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness.config import Settings, Surroundings, surroundings, whole_environment
from harness.drivers.native_package import binary_in
from harness.drivers.native_pin import (
    NAME,
    PIN,
    NativeBinary,
    NativeInTheWay,
    Pin,
    file_sha256,
    find_native,
    native_path,
    native_platform,
    refuse_folder,
)
from harness.errors import NativeUnsupported, ProcessNotStarted, SetupError, quoted
from harness.process import Command, owned_process, private_folder

NPM_S = 180.0
"""Seconds for the download of 54 MB; without a network npm fails in seconds, behind a silent wall never."""

NPM_FLAGS = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000")
"""npm's own default is to wait for a minute before it says that there is no network."""

ABANDONED_S = 3600.0
"""Age at which a half-written binary belongs to no installation that still runs."""


async def install_native(settings: Settings, report: Callable[[str], None], pin: Pin = PIN) -> NativeBinary:
    """Put the pinned binary into the cache folder; does nothing where it is there and right, sets a missing run bit.

    `report` gets a line before the download. Takes at most about `NPM_S` seconds. Once at a time in a
    process: a program that is started while the binary is written holds the open file for a moment, in which the
    system does not run it.

    Raises:
        SetupError: no npm, no binary for this platform, a folder in the binary's place, the download failed or took too
            long, the package or the binary is not the pinned one, or the cache folder cannot be written.
        NativeMismatch: the binary is the pinned one and yet does not run here, or says that it is another version.
    """
    try:
        name = native_platform(pin)
    except NativeUnsupported as error:
        raise SetupError(error.message) from error
    path = native_path(settings, pin)
    try:
        refuse_folder(path, pin)
    except NativeInTheWay as error:
        raise SetupError(error.message) from error
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
        if not package.is_file():
            raise SetupError(f"npm pack ended well and yet left no {package.name}")
        return await asyncio.to_thread(binary_in, package, name, pin)


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
