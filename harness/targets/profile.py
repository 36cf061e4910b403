"""Profiles that outlive their Chrome: a dedicated folder for each name, held by one host at a time.

Invariants: the folder is below the setting `state_dir`, mode 0700, is no link, and is thus never the profile of a
browser that the user runs; who holds its lock is alone in it. The lock is an open file: the system gives it back when
the last program that has it open is gone, whatever ended that. Chrome has it open too, so it lasts as long as Chrome.
"""

import errno
import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.config import Settings
from harness.errors import SetupError, TargetError, UsageError, quoted

FOLDER = "profiles"
"""Below the state folder."""

LEAST_NUMBER = 32
"""Of the lock's file descriptor: Chrome's debugging pipe takes 3 and 4."""

MAX_PID_CHARS = 20
SINGLETONS = ("SingletonLock", "SingletonCookie", "SingletonSocket")
"""Chrome's own marks of a profile in use. One that died leaves them, and under another host name refuses to start."""

_NAME = re.compile(r"[a-z0-9-]{1,40}")
_OWNER = re.compile(r"(?P<host>.+)-(?P<pid>[0-9]{1,10})", re.DOTALL)


class ProfileNameWrong(UsageError):
    """Not 1 to 40 lower-case letters, digits and hyphens."""


class ProfileInUse(TargetError):
    """Another host, or a Chrome, has this profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldProfile:
    """A profile that is ours for now. `lock`: the open file that holds it, for Chrome to keep open too."""

    folder: Path
    lock: int


def profile_folder(settings: Settings, name: str) -> Path:
    """Where the profile of that name stands, or would stand.

    Raises:
        ProfileNameWrong: the name is not of the agreed form.
    """
    if _NAME.fullmatch(name) is None:
        raise ProfileNameWrong(
            f"the profile name {quoted(name)} is not usable; take 1 to 40 of a-z, 0-9 and hyphens, such as work-1"
        )
    return settings.state_dir / FOLDER / name


@contextmanager
def held_profile(settings: Settings, name: str) -> Iterator[HeldProfile]:
    """The profile of that name, made where it is missing, without the marks of a Chrome that died in it.

    Raises:
        ProfileNameWrong: as `profile_folder`.
        ProfileInUse: another host or a Chrome has it.
        SetupError: the folder or its lock is a link, belongs to somebody else, or cannot be made.
    """
    folder = profile_folder(settings, name)
    try:
        _make(folder)
        lock = _open_lock(folder.with_name(f"{name}.lock"))
    except OSError as error:
        raise SetupError(f"the profile folder {quoted(str(folder))} cannot be used: {error.strerror}") from error
    try:
        if not _take(lock):
            raise ProfileInUse(
                f"the profile {quoted(name)} is in use by another host{_holder(lock)}; "
                "stop that one, or take another profile"
            )
        _remove_marks(folder, name)
        yield HeldProfile(folder=folder, lock=lock)
    finally:
        os.close(lock)


def _make(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in (folder.parent, folder):
        with suppress(FileExistsError):
            each.mkdir(mode=0o700)
        if each.is_symlink() or not each.is_dir():
            raise OSError(errno.ENOTDIR, "it is a link or no folder")
        each.chmod(0o700)


def _open_lock(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    opened = os.open(path, flags, 0o600)
    if sys.platform == "win32":
        return opened
    import fcntl  # not on Windows

    try:
        return fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, LEAST_NUMBER)
    finally:
        os.close(opened)


def _take(lock: int) -> bool:
    """Take the lock, and write down who has it, for the sentence that another one reads."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
            return True
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    with suppress(OSError):  # a full disk costs the number in a sentence, nothing else
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
    return True


def _holder(lock: int) -> str:
    if sys.platform == "win32":
        return ""
    said = os.pread(lock, MAX_PID_CHARS, 0)
    return f" (process {said.decode()})" if said.isdigit() else ""


def _remove_marks(folder: Path, name: str) -> None:
    """Remove a dead Chrome's marks; a living one that was started by hand on this folder is left alone, and refused."""
    try:
        owner = _OWNER.fullmatch(str((folder / SINGLETONS[0]).readlink()))
    except OSError:
        owner = None  # there is none
    if owner is not None and owner["host"] == socket.gethostname() and _runs_in(int(owner["pid"]), folder):
        raise ProfileInUse(
            f"the profile {quoted(name)} is in use by a Chrome (process {owner['pid']}); close it, or take another"
        )
    for mark in SINGLETONS:
        try:
            (folder / mark).unlink(missing_ok=True)
        except OSError as error:
            raise SetupError(f"{quoted(str(folder / mark))} cannot be removed: {error.strerror}") from error


def _runs_in(pid: int, folder: Path) -> bool:
    try:
        process = psutil.Process(pid)
        given = process.cmdline()
        return process.status() != psutil.STATUS_ZOMBIE and any(part.endswith(f"={folder}") for part in given)
    except psutil.Error:
        return False
