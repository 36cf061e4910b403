"""A run's folder on disk: manifest, rows, and a folder for each trial. What is in it survives a kill at any moment.

A row is one line, appended and fsynced when its trial ends. Resuming keeps the whole row of every trial that ended,
cuts a torn last line off, and moves rows of trials that were interrupted, or never began as their driver could not
start, into the manifest's deviations, since those trials run again.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson
from pydantic import JsonValue

from harness.errors import RunStopped, UsageError, quoted
from reports.row import Row, RowError, parse_row

MANIFEST = "manifest.json"
ROWS = "rows.jsonl"
TRIALS = "trials"
_TRIAL_ID = re.compile(r"[a-z0-9._-]{1,200}")
_EARLIER_TRY = re.compile(r"\.interrupted-[0-9]+$")


@dataclass(slots=True, kw_only=True)
class Ledger:
    """The open folder of one run. `done` holds the ids of trials that have their row."""

    folder: Path
    manifest: dict[str, JsonValue]
    done: set[str] = field(default_factory=set)

    def append(self, row: Row) -> None:
        """Add one row; on return it is on the disk.

        Raises:
            RunStopped: it cannot be written. A part that was written is cut off when the run is resumed.
        """
        line = row.model_dump_json().encode() + b"\n"
        try:
            with (self.folder / ROWS).open("ab", buffering=0) as file:
                write_all(file, line)
                os.fsync(file.fileno())
        except OSError as error:
            raise RunStopped(
                f"the row of trial {row.trial_id} cannot be written ({error.strerror}); "
                f"the run has stopped with {len(self.done)} rows and can be resumed with --resume"
            ) from error
        self.done.add(row.trial_id)

    @contextmanager
    def trial(self, trial_id: str) -> Iterator[tuple[Path, BinaryIO]]:
        """A fresh folder for one trial, and its open steps.jsonl. What an earlier try left there is kept beside it.

        Raises:
            RunStopped: it cannot be made.
        """
        if _TRIAL_ID.fullmatch(trial_id) is None:
            raise ValueError(f"not a trial id: {trial_id!r}")
        folder = self.folder / TRIALS / trial_id
        try:
            if folder.exists():
                tries = len(list(folder.parent.glob(f"{trial_id}.interrupted-*")))
                folder.rename(folder.with_name(f"{trial_id}.interrupted-{tries + 1}"))
            folder.mkdir(parents=True)
            # Without a buffer: one that holds what a full disk refused would raise again when it is closed.
            file = (folder / "steps.jsonl").open("ab", buffering=0)
        except OSError as error:
            raise RunStopped(f"the folder of trial {trial_id} cannot be made: {error.strerror}") from error
        with file:
            yield folder, file

    def deviate(self, what: str) -> None:
        """Add a deviation from the protocol to the manifest; one that stands there already is not added again.

        Raises:
            RunStopped: the manifest cannot be written.
        """
        deviations = self.manifest.get("deviations")
        known = deviations if isinstance(deviations, list) else []
        if what not in known:
            self.manifest["deviations"] = [*known, what]
            self.save_manifest()

    def save_manifest(self) -> None:
        """Write manifest.json whole, by a rename.

        Raises:
            RunStopped: it cannot be written.
        """
        write_whole(self.folder / MANIFEST, orjson.dumps(self.manifest, option=orjson.OPT_INDENT_2) + b"\n")


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place by a rename, so that it is there whole or not at all.

    Raises:
        RunStopped: it cannot be written.
    """
    part = path.with_name(f".{path.name}.new")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RunStopped(f"{path.name} cannot be written: {error.strerror}") from error


def write_all(file: BinaryIO, line: bytes) -> None:
    """Write a whole line to a file without a buffer, which may take it in parts.

    Raises:
        OSError: the disk is full or the folder is gone.
    """
    left = memoryview(line)
    while left:
        left = left[file.write(left) :]


def new_ledger(folder: Path, manifest: Mapping[str, JsonValue]) -> Ledger:
    """Begin a run in a folder that does not exist yet or is empty.

    Raises:
        UsageError: there is something in it.
        RunStopped: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"the folder {quoted(str(folder))} cannot be used: {error.strerror}") from error
    if occupied:
        raise UsageError(f"the folder {quoted(str(folder))} is not empty; name another with --out, or use --resume")
    ledger = Ledger(folder=folder, manifest=dict(manifest))
    ledger.save_manifest()
    return ledger


def resume_ledger(folder: Path, planned: Mapping[str, JsonValue]) -> Ledger:
    """Go on with a run of the same spec. `planned` is the manifest with which a new run of this spec would begin.

    Raises:
        UsageError: the folder holds no run, or one of another spec; or a row in its middle cannot be read.
        RunStopped: it cannot be written.
    """
    try:
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
    except OSError as error:
        raise UsageError(f"the folder {quoted(str(folder))} holds no run to resume: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{quoted(str(folder / MANIFEST))} is not JSON: the run cannot be resumed") from error
    if not isinstance(manifest, dict) or manifest.get("spec_digest") != planned["spec_digest"]:
        raise UsageError(
            f"the run in {quoted(str(folder))} has another spec{_differences(manifest, planned)}; "
            "resume it with the same, or name another folder with --out"
        )
    rows = _whole_rows(folder / ROWS)
    interrupted = [row for row in rows if row.outcome == "interrupted"]
    not_run = [row for row in rows if _never_began(row)]
    kept = [row for row in rows if row not in interrupted and row not in not_run]
    ledger = Ledger(folder=folder, manifest=manifest, done={row.trial_id for row in kept})
    # The manifest first: a kill between the two writes may repeat a deviation, which is refused, but loses none.
    for row in interrupted:
        ledger.deviate(f"trial {row.trial_id}, begun {row.started_at}, was interrupted and ran again")
    for row in not_run:
        _drop_empty(folder / TRIALS / row.trial_id)
    for driver, trials in Counter(row.driver for row in not_run).items():
        ledger.deviate(f"the driver {driver} had not started, so {trials} of its trials began when the run was resumed")
    for trial_id in _without_row(folder / TRIALS, {row.trial_id for row in rows}):
        ledger.deviate(f"trial {trial_id} was begun, left no row and ran again")
    write_whole(folder / ROWS, b"".join(row.model_dump_json().encode() + b"\n" for row in kept))
    return ledger


def _differences(manifest: object, planned: Mapping[str, JsonValue]) -> str:
    """In what a manifest, of which nothing is known, differs from the planned one; empty: it does not tell."""
    if not isinstance(manifest, dict):
        return ""
    keys = ("arms", "model", "repeats", "seed", "fixtures", "protocol")
    differ = [key for key in keys if key in planned and manifest.get(key) != planned[key]]
    there, here = (_task_digests(one.get("tasks")) for one in (manifest, planned))
    if list(there) != list(here):
        differ.append("tasks")
    differ += [f"the files of {quoted(name)}" for name, digest in here.items() if there.get(name, digest) != digest]
    if manifest.get("prompt_digest") != planned.get("prompt_digest"):
        differ.append("the bot's instructions")
    return f", which differs in {', '.join(differ)}" if differ else ""


def _task_digests(tasks: object) -> dict[str, object]:
    """The digest of each task of a manifest, by its name, in their order; what has not the form of one is left out."""
    named = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    return {f"{task.get('suite')}/{task.get('name')}": task.get("digest") for task in named}


def _without_row(trials: Path, known: set[str]) -> list[str]:
    """Trials that were begun, but whose process was killed, or whose disk was full, before their row was written."""
    begun = sorted(folder.name for folder in trials.iterdir()) if trials.is_dir() else []
    return [name for name in begun if name not in known and _EARLIER_TRY.search(name) is None]


def _never_began(row: Row) -> bool:
    """Whether the trial's driver could not be started at all: only then is its version not known, and nothing was done.

    A trial that began is never run again, however it ended.
    """
    return row.outcome == "driver_failed" and row.driver_version is None and not row.calls and not row.observations


def _drop_empty(folder: Path) -> None:
    """Remove the folder of a trial that never began; one that holds more than an empty steps.jsonl stays."""
    steps = folder / "steps.jsonl"
    if steps.is_file() and steps.stat().st_size == 0 and list(folder.iterdir()) == [steps]:
        steps.unlink()
        folder.rmdir()


def _whole_rows(path: Path) -> list[Row]:
    """The rows that were written whole. A torn last line is left out: its trial runs again.

    Raises:
        UsageError: it is a device or a folder, or a line before the last is not a row.
    """
    rows: list[Row] = []
    if path.exists() and not path.is_file():
        raise UsageError(f"{quoted(str(path))} is not a file; the run cannot be resumed until it is gone")
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(lines, 1):
        is_torn = number == len(lines)  # behind the last line break
        if not line or is_torn:
            continue
        try:
            rows.append(parse_row(line.decode()))
        except (RowError, UnicodeDecodeError) as error:
            raise UsageError(f"{quoted(str(path))}, line {number}: {error}") from error
    return rows
