"""The durable flag Browser Access: which bots may use a browser at all. Off where nothing is kept.

One small JSON file below the state folder, read anew at each look, so that what another process switches off is off
here too. A change is made under a lock that a killed process loses, and the file is written beside the old one and
renamed over it: a reader never sees half of it, and a full disk leaves it as it was.
"""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import AxtrialError, UsageError, quoted
from harness.host.audit import MAX_NAME_CHARS

FOLDER = "access"
"""Below the state folder: ours alone, so that its access rights can be set."""

FILE = "access.json"
LOCK_FILE = "access.lock"

VERSION = 1

MAX_BOTS = 1_000
"""Flags in one file; a host has a handful of bots."""

MAX_FILE_BYTES = 2 * 1024 * 1024
"""Above what MAX_BOTS of the longest names take with every character escaped."""

LOCK_TIMEOUT_S = 1.0
"""How long a change waits for another process's, which takes some milliseconds."""


class AccessError(AxtrialError):
    """The flags could not be written; they are as they were."""


class AccessUnreadable(UsageError):
    """The file of flags cannot be read, is damaged, or was written by another version."""


class AccessRefused(UsageError):
    """A flag that cannot be kept: its bot's name is wrong, or there are too many."""


class _Version(BaseModel):
    """All that is asked of a file before it is known to be of this version."""

    model_config = ConfigDict(strict=True)

    version: int


class _Flags(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    access: Annotated[dict[str, bool], Field(max_length=MAX_BOTS)]


class BrowserAccess(MutableMapping[str, bool]):
    """The flags in a state folder, as a mapping; a bot that it does not have is off.

    A bot's name has 1 to 80 printable code points, blanks not at its ends. Safe beside other processes and threads: of
    two changes of one flag the later stays, and neither loses another bot's.

    Raises:
        AccessUnreadable: at any look, the file cannot be read, is damaged, or is not of this version.
        AccessError: at a change, the file could not be written; nothing has changed.
        AccessRefused: at a change, the name is wrong, or there are too many.
    """

    def __init__(self, state_dir: Path) -> None:
        self.path = access_file(state_dir)

    def __getitem__(self, bot: str) -> bool:
        return self._read()[bot]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __setitem__(self, bot: str, on: bool) -> None:
        if not _is_name(bot):
            raise AccessRefused(
                f"the bot's name {quoted(bot)} is not usable: 1 to {MAX_NAME_CHARS} printable characters, "
                "no blank at the ends"
            )
        with self._changing() as flags:
            flags[bot] = on
            if len(flags) > MAX_BOTS:
                raise AccessRefused(
                    f"the file {quoted(str(self.path))} has flags of {MAX_BOTS} bots already; take some out first"
                )

    def __delitem__(self, bot: str) -> None:
        with self._changing() as flags:
            del flags[bot]

    @contextmanager
    def _changing(self) -> Iterator[dict[str, bool]]:
        """The flags, to be changed in the block and written at its end, with nobody else writing meanwhile."""
        with _translated(self.path):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.parent.chmod(0o700)
            with _locked(self.path.with_name(LOCK_FILE)):
                flags = self._read()
                yield flags
                _write_whole(self.path, _Flags(version=VERSION, access=flags).model_dump_json().encode())

    def _read(self) -> dict[str, bool]:
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise AccessUnreadable(f"the file {quoted(str(self.path))} cannot be read: {error.strerror}") from error
        return self._decoded(data)

    def _decoded(self, data: bytes) -> dict[str, bool]:
        damaged = f"the file {quoted(str(self.path))} is damaged; repair it, or remove it, and every bot is off"
        if len(data) > MAX_FILE_BYTES:
            raise AccessUnreadable(damaged)
        try:
            version = _Version.model_validate_json(data).version
            if version != VERSION:
                raise AccessUnreadable(
                    f"the file {quoted(str(self.path))} has version {version}; this axtrial knows {VERSION}"
                )
            flags = _Flags.model_validate_json(data).access
        except ValidationError as error:
            raise AccessUnreadable(damaged) from error
        if not all(map(_is_name, flags)):
            raise AccessUnreadable(damaged)
        return flags


def access_file(state_dir: Path) -> Path:
    """Where the flags of a state folder stand."""
    return state_dir / FOLDER / FILE


def _is_name(bot: str) -> bool:
    return 1 <= len(bot) <= MAX_NAME_CHARS and bot.isprintable() and bot == bot.strip()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock. SQLite's is the one that every system has, that waits within a bound and ends with its process."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)
    with contextlib.closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise AccessError(f"the file {quoted(str(path))} cannot be changed: {error}") from error
    except OSError as error:
        raise AccessError(f"the file {quoted(str(path))} cannot be written: {error.strerror}") from error


def _write_whole(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # its mode is 0600
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the new file stands; only a loss of power could bring the old one back
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
