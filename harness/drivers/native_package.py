"""One binary out of the native driver's packed npm package, which is checked as a whole before it is unpacked.

Blocking, about a second: call it from a thread where an event loop runs.
"""

import base64
import hashlib
import os
import tarfile
import zlib
from gzip import BadGzipFile
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.drivers.native_pin import NAME, Pin
from harness.errors import SetupError, quoted

MAX_PACKAGE_BYTES = 128 * 1024 * 1024
"""Of the packed package, which has 54 MB."""

MAX_BINARY_BYTES = 64 * 1024 * 1024
"""Of one unpacked binary; the largest has 18 MB."""

MAX_MANIFEST_BYTES = 256 * 1024
"""Of the package's package.json, which has 2.5 kB."""


class _Manifest(BaseModel):
    """What is read of package.json; it has many more keys, which do not concern us."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    name: str
    version: str


def binary_in(package: Path, name: str, pin: Pin) -> bytes:
    """The binary for the platform `name` out of the packed package, once both agreed with the pin; writes nothing.

    Raises:
        SetupError: package, version or binary is not the pinned one, a file is not there or too large, or the package
            cannot be read or unpacked.
    """
    try:
        _check_integrity(package, pin)
        binary, manifest = _members(package, name)
    except (tarfile.TarError, zlib.error, EOFError, BadGzipFile) as error:
        raise SetupError(f"the package {NAME} cannot be unpacked: {quoted(str(error))}") from error
    except OSError as error:
        raise SetupError(f"the package {quoted(str(package))} cannot be read: {error.strerror}") from error
    _check_manifest(manifest, pin)
    if binary is None:
        raise SetupError(f"the package {NAME} {pin.version} does not hold {_member(name)}")
    digest = hashlib.sha256(binary).hexdigest()
    if digest != pin.sha256[name]:
        raise SetupError(
            f"{_member(name)} in the package {NAME} has the sha256 {digest}, the pin is {pin.sha256[name]}"
        )
    return binary


def _member(name: str) -> str:
    return f"package/bin/{NAME}-{name}" + (".exe" if name.startswith("win32") else "")


def _members(package: Path, name: str) -> tuple[bytes | None, bytes | None]:
    """Binary and package.json. Found by their whole names in one pass: going back would unpack 116 MB again."""
    binary = manifest = None
    with tarfile.open(package, mode="r|gz") as tar:
        for entry in tar:
            if entry.name == _member(name):
                binary = _read(tar, entry, MAX_BINARY_BYTES)
            elif entry.name == "package/package.json":
                manifest = _read(tar, entry, MAX_MANIFEST_BYTES)
    return binary, manifest


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
