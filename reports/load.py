"""Reads a run's folder: manifest, rows, and the steps of one trial.

Lines end at LF alone. The last line of a ledger may be torn, because a run may be killed while it writes; that is a
note. Any other line that cannot be read is an error, because a row that is silently left out changes the result.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from reports.errors import ManifestError, RunFolderError, StepsError, TrialIdError
from reports.manifest import Manifest
from reports.row import Row, RowError, parse_row

_TRIAL_ID = re.compile(r"[a-z0-9._-]+")


class Step(BaseModel):
    """One call of a trial: one line of steps.jsonl. Sizes are those of the rendering; None where there is none."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    n: int
    at_ms: float
    tool: str
    arguments: dict[str, JsonValue]
    answer: str
    outcome: str
    rendering: str | None = None
    chars: int | None = None
    utf8_bytes: int | None = None
    est_tokens: int | None = None
    verbatim: bool | None = None
    truncated: bool | None = None
    stages_ms: dict[str, float] = Field(default_factory=dict)
    input_sent: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it lies on disk. `notes` are sentences for the reader about what could not be read."""

    folder: Path
    manifest: Manifest
    rows: list[Row]
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps of one trial, and a note where their end is torn."""

    steps: list[Step]
    notes: list[str]


def load_run(folder: Path) -> Run:
    """Read manifest.json and rows.jsonl; a run without rows.jsonl has no rows yet.

    Raises:
        RunFolderError: the folder is missing, empty, or holds no manifest.json.
        ManifestError: manifest.json is not one JSON object.
        RowError: a line of rows.jsonl is not a row, and is not a torn last line; names file and line.
    """
    manifest = _manifest(folder)
    rows: list[Row] = []
    notes: list[str] = []
    for index, line, torn in _lines(folder / "rows.jsonl"):
        if torn:
            notes.append(f"rows.jsonl, line {index} is torn: the run was stopped while it wrote it. It is not counted.")
            continue
        try:
            rows.append(parse_row(line.decode()))
        except (RowError, UnicodeDecodeError) as error:
            raise RowError(f"{folder / 'rows.jsonl'}, line {index}: {error}") from error
    for trial, times in Counter(row.trial_id for row in rows).items():
        if times > 1:
            notes.append(f"Trial {trial} has {times} rows; each is counted as a trial that was started.")
    return Run(folder=folder, manifest=manifest, rows=rows, notes=notes)


def load_steps(folder: Path, trial_id: str) -> Steps:
    """Read trials/ID/steps.jsonl; a trial that recorded none has no steps.

    Raises:
        TrialIdError: the id holds characters other than a-z, 0-9, dot, underscore and hyphen, or is only dots.
        StepsError: a line is not a step, and is not a torn last line; names file and line.
    """
    if not _TRIAL_ID.fullmatch(trial_id) or not trial_id.strip("."):
        raise TrialIdError(f"trial id {trial_id[:80]!r} may hold only a-z, 0-9, '.', '_' and '-'")
    steps: list[Step] = []
    notes: list[str] = []
    for index, line, torn in _lines(folder / "trials" / trial_id / "steps.jsonl"):
        # Without the run's own folder: the text stands in reports, which travel.
        place = f"trials/{trial_id}/steps.jsonl, line {index}"
        if torn:
            notes.append(f"{place} is torn: the trial was stopped while it wrote it.")
            continue
        try:
            steps.append(Step.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "line"
            raise StepsError(f"{place} is not a step: {where}: {first['msg']}") from error
    return Steps(steps=steps, notes=notes)


def _manifest(folder: Path) -> Manifest:
    path = folder / "manifest.json"
    if not folder.is_dir():
        raise RunFolderError(f"{folder} is not a folder; name the folder of a run, which holds manifest.json.")
    if not path.is_file():
        state = "holds no manifest.json" if any(folder.iterdir()) else "is empty"
        raise RunFolderError(f"{folder} {state}; name the folder of a run.")
    try:
        data = json.loads(path.read_bytes(), parse_constant=_no_number)
    except ValueError as error:
        raise ManifestError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ManifestError(f"{path} is not a JSON object.")
    return Manifest(data=data)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Each line with its number, from 1, and whether it is the torn end; a missing file has no lines."""
    if not path.is_file():
        return
    lines = path.read_bytes().split(b"\n")
    for index, line in enumerate(lines, start=1):
        last = index == len(lines)
        if last and not line:
            return
        yield index, line, last  # a line is whole once its line break is there: the ledger holds it so too
