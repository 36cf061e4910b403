"""Tasks from a fixtures folder: `ROOT/SUITE/NAME/task.toml` beside `pages/`. Knows no browser and no server."""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from harness.errors import SpecError
from harness.models.script import Step, check_captures

TASK_FILE = "task.toml"
PAGES_FOLDER = "pages"
UPLOADS_FOLDER = "uploads"
"""Below the task's folder: the files that its bot may upload."""

_PART = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What suites and tasks may be called: both stand in file names, addresses and rows."""


class Limits(BaseModel):
    """When a trial ends at the latest. `seconds` leaves out the wait for a human's approval."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    calls: int = Field(ge=1)
    seconds: float = Field(gt=0)


SiteName = Literal["generic", "orders"]


class _TaskFile(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    site: SiteName = "generic"
    default: bool = True
    goal: str = Field(min_length=1)
    limits: Limits
    facts: list[str] = Field(default_factory=list)
    expected: dict[str, JsonValue] = Field(min_length=1)
    script: list[Step] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A goal with its pages and the state that is right at the end.

    `site` names the server logic of `harness/trial/sites`. In `goal`, `{base}` stands for
    the run's address. `facts` are texts that a faithful observation shows at some time. `files` maps the address of
    each page, below the run's address, to its file; `digest` is the sha256 of all files of the task's folder, names
    and bytes. Not `default`: a run has it only where it is named.
    """

    suite: str
    name: str
    folder: Path
    site: SiteName
    goal: str
    limits: Limits
    facts: tuple[str, ...]
    expected: dict[str, JsonValue]
    script: tuple[Step, ...]
    files: dict[str, Path]
    digest: str
    default: bool = True

    @property
    def key(self) -> str:
        """The task as it is written on the command line: SUITE/NAME."""
        return f"{self.suite}/{self.name}"

    def as_json(self) -> dict[str, JsonValue]:
        """The task as it stands in `axtrial tasks --json`."""
        return {
            "suite": self.suite,
            "name": self.name,
            "goal": self.goal,
            "facts": list(self.facts),
            "limits": {"calls": self.limits.calls, "seconds": self.limits.seconds},
        }

    def is_right(self, state: dict[str, JsonValue]) -> bool:
        """Whether each part of the state that `expected` names is equal to it; other parts are not judged."""
        return not self.wrong_parts(state)

    def wrong_parts(self, state: dict[str, JsonValue]) -> tuple[str, ...]:
        """The parts of the state that `expected` names and that are not equal to it."""
        return tuple(
            key
            for key, value in self.expected.items()
            if key not in state or _canonical(state[key]) != _canonical(value)
        )


def load_tasks(root: Path) -> dict[str, Task]:
    """All tasks under a fixtures folder, in the order of their keys `SUITE/NAME`.

    Raises:
        SpecError: the folder is missing or holds no task, or a task is not of the agreed form.
    """
    if not root.is_dir():
        raise SpecError(f"{root}: not a folder; a fixtures folder holds SUITE/NAME/{TASK_FILE}")
    files = sorted(root.glob(f"*/*/{TASK_FILE}"))
    if not files:
        raise SpecError(f"{root}: no task in it; a fixtures folder holds SUITE/NAME/{TASK_FILE}")
    tasks = [_load_task(file) for file in files]
    return {task.key: task for task in tasks}


def _load_task(file: Path) -> Task:
    folder = file.parent
    for part in (folder.parent.name, folder.name):
        if _PART.fullmatch(part) is None:
            raise SpecError(f"{file}: folder {part!r} must be lower-case letters, digits and hyphens, 64 at most")
    content = _read_folder(folder)
    read = _decode(file, content.task)
    files = {address: path for path in content.paths if (address := _address(folder, path)) is not None}
    for number, page in enumerate(step.url for step in read.script):
        if page is not None and page not in files:
            raise SpecError(f"{file}: script.{number}.url: no page {page!r} in {PAGES_FOLDER}/")
    try:
        check_captures(read.script)
    except ValueError as error:
        raise SpecError(f"{file}: script: {error}") from error
    return Task(
        suite=folder.parent.name,
        name=folder.name,
        folder=folder,
        site=read.site,
        goal=read.goal,
        limits=read.limits,
        facts=tuple(read.facts),
        expected=read.expected,
        script=tuple(read.script),
        files=files,
        digest=content.digest,
        default=read.default,
    )


class _Content(NamedTuple):
    paths: list[Path]
    task: bytes
    digest: str


def _read_folder(folder: Path) -> _Content:
    """Every file of a task, and the digest over names and bytes; each part is led by its length."""
    digest = hashlib.sha256()
    paths = []
    task = b""
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_symlink():
            raise SpecError(f"{path}: a link; a task's folder holds its own files only")
        if not path.is_file():
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
        for part in (path.relative_to(folder).as_posix().encode(), data):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        paths.append(path)
        if path == folder / TASK_FILE:
            task = data
    return _Content(paths, task, digest.hexdigest())


def _decode(file: Path, data: bytes) -> _TaskFile:
    try:
        return _TaskFile.model_validate(tomllib.loads(data.decode()))
    except UnicodeDecodeError as error:
        raise SpecError(f"{file}: not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{file}: not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SpecError(f"{file}: {key}: {first['msg']}") from error


def _address(folder: Path, path: Path) -> str | None:
    """Where a file of `pages/` is served, below the run's address; an .html page goes without its suffix."""
    relative = PurePosixPath(path.relative_to(folder).as_posix())
    if relative.parts[0] != PAGES_FOLDER:
        return None
    inside = relative.relative_to(PAGES_FOLDER)
    return str(inside.with_suffix("") if inside.suffix == ".html" else inside)


def _canonical(value: JsonValue) -> bytes:
    """As bytes, since Python holds that True equals 1."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
