"""Private temp folders with the record of who owns them and who runs in them, and the sweep of those left behind.

A folder is ours to remove only if it is a real folder, belongs to this user, and its recorded owner does not live any
more. A process is ours to end only if such a folder records it, by pid and start time.
"""

import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Literal

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import SetupError

PREFIX = "axtrial-"
RECORD = "owner.json"
HARD = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL

START_TOLERANCE_S = 2.0
"""A start time is counted from the boot time, which moves by about a second when the clock is set."""

MAX_RECORD_BYTES = 64 * 1024
"""A record is some hundred bytes; a larger file is not one of ours."""

RETRY_S = 0.02
"""Seconds between two tries to remove a folder."""

ABANDONED_S = 3600.0
"""Age at which a folder without a record was not just made by a program that is about to write it."""

SWEEP_S = 2.0
"""Seconds that a sweep spends on one folder that resists."""


class Started(BaseModel):
    """One process, told from a later one with the same pid by its start time (seconds since the epoch)."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    pid: int
    started: float


class Record(BaseModel):
    """Who owns a folder and which children, each the leader of its group, run in it.

    `space` names the machine and its set of pids: the same number means another process elsewhere.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    version: Literal[1] = 1
    space: str
    owner: Started
    children: list[Started] = []


def new_folder() -> Path:
    """Make a private folder, mode 0700, with this process as its recorded owner.

    Raises:
        SetupError: the system's temp folder is full or cannot be written.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    except OSError as error:
        raise SetupError(f"no folder can be made in {tempfile.gettempdir()}: {error.strerror}") from error
    owner = Started(pid=os.getpid(), started=psutil.Process().create_time())
    try:
        _write(folder, Record(space=_space(), owner=owner))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise SetupError(f"nothing can be written in {tempfile.gettempdir()}: {error.strerror}") from error
    return folder


def record_child(folder: Path, pid: int) -> None:
    """Add a running child to the folder's record.

    Raises:
        OSError: the record cannot be written.
    """
    record = _read(folder)
    try:
        child = Started(pid=pid, started=psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return  # it has ended already: nothing to sweep
    if record is not None:
        _write(folder, record.model_copy(update={"children": [*record.children, child]}))


def drop_folder(folder: Path, bound_s: float) -> None:
    """Remove the folder, trying again for `bound_s` seconds; a ResourceWarning tells what stays."""
    end = time.monotonic() + bound_s
    while True:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if not folder.exists():
                return  # a second sweep was faster
            if time.monotonic() > end:
                warnings.warn(f"{folder} was not removed: {error.strerror}", ResourceWarning, stacklevel=2)
                return
        else:
            return
        time.sleep(RETRY_S)


def kill_group(group: int, number: signal.Signals) -> None:
    """Signal every process of the group; none there is no error."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(group, number)
        else:
            os.kill(group, number)
    except (ProcessLookupError, PermissionError):
        return


def living_users(folder: Path, group: int | None) -> list[psutil.Process]:
    """The processes of `group`, and those whose options or home folder point into `folder`.

    A process that has ended and only waits for its parent is not one of them. Chrome's crash handler leaves the group:
    it is known by its options.
    """
    found = []
    for pid in psutil.pids():
        try:
            if pid != os.getpid() and _uses(process := psutil.Process(pid), folder, group):
                found.append(process)
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue  # ended meanwhile, or not ours to see
    return found


def _uses(process: psutil.Process, folder: Path, group: int | None) -> bool:
    if hasattr(os, "getuid") and process.uids().real != os.getuid():
        return False
    if not (hasattr(os, "getpgid") and os.getpgid(process.pid) == group):
        inside = f"={folder}{os.sep}"
        if process.environ().get("HOME") != str(folder) and not any(inside in part for part in process.cmdline()):
            return False
    return process.status() != psutil.STATUS_ZOMBIE


def end_users(folder: Path, group: int | None, bound_s: float) -> None:
    """Kill `group` and wait until nobody uses the folder; kill who still does after `bound_s` seconds."""
    if group is not None:
        kill_group(group, HARD)
    end = time.monotonic() + bound_s
    while users := living_users(folder, group):
        if time.monotonic() > end:
            for process in users:
                _kill(process)
            return
        time.sleep(RETRY_S)


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.Error:
        return


def sweep_leftovers() -> list[Path]:
    """Remove the folders whose owner is dead, ending first the recorded processes that still run in them.

    Returns what was removed. Folders of other users, of living owners and of other machines or containers are not
    touched; one without a readable record only when it is old and no process has the number in its name.
    """
    swept = []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        if not _is_ours(folder):
            continue
        record = _read(folder)
        if record is None and not _is_abandoned(folder):
            continue
        if record is not None and (record.space != _space() or _lives(record.owner)):
            continue
        for child in record.children if record is not None else []:
            _end_child(child, folder)
        drop_folder(folder, SWEEP_S)
        swept.append(folder)
    return swept


def _is_abandoned(folder: Path) -> bool:
    pid = folder.name.removeprefix(PREFIX).split("-")[0]
    try:
        return (
            pid.isdecimal() and not psutil.pid_exists(int(pid)) and time.time() - folder.stat().st_mtime > ABANDONED_S
        )
    except OSError:
        return False


def _end_child(child: Started, folder: Path) -> None:
    """End a recorded child with its group, and what it left in the folder.

    Once the child itself is dead its number may be another program's: then only the folder tells who belongs to it.
    """
    group = child.pid if _lives(child) else None
    for process in living_users(folder, group):
        _kill(process)
    end_users(folder, group, SWEEP_S)


def _is_ours(folder: Path) -> bool:
    try:
        return not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == _user()
    except OSError:
        return False


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _lives(who: Started) -> bool:
    try:
        process = psutil.Process(who.pid)
        return (
            abs(process.create_time() - who.started) <= START_TOLERANCE_S and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True  # not to be seen: then not to be touched


def _space() -> str:
    try:
        pids = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        pids = ""
    return f"{socket.gethostname()} {pids}"


def _read(folder: Path) -> Record | None:
    try:
        with (folder / RECORD).open("rb") as file:
            return Record.model_validate_json(file.read(MAX_RECORD_BYTES))
    except (OSError, ValidationError):
        return None


def _write(folder: Path, record: Record) -> None:
    """Written aside and renamed: a reader never sees half a record."""
    part = folder / f".{RECORD}"
    part.write_text(record.model_dump_json(), encoding="utf-8")
    part.replace(folder / RECORD)
