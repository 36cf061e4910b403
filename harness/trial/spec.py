"""What a run compares: arms, tasks, model, repeats, seed. One frozen spec, from a TOML file and the command line."""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from formatters.catalog import FORMATTERS
from harness.errors import SpecError, quoted
from harness.host.browsers import DRIVERS, TARGETS, WITHOUT_TREE
from harness.models.catalog import ROUTES
from harness.trial.tasks import Task

PROTOCOL = "1"
"""Version of the trial protocol; rows of different versions are not compared."""

DEFAULT_ARMS = ("current/local/page-text", "current/local/structured", "agent-browser/local/conservative")
MAX_SPEC_BYTES = 256 * 1024
MAX_REPEATS = 1_000
MAX_SEED = 2**63 - 1
"""What every JSON reader of a manifest can hold."""


AxRead = Literal["full", "bounded"]
"""How much of the accessibility tree is read: all of it, or what the model is shown."""

BOUNDED = "+bounded"
"""Behind an arm's formatter: the tree is read as far as it is shown."""

PAGING = "+paging"
"""Behind that: the bot can read on behind the cut, and search the whole document."""


class Arm(BaseModel):
    """One (driver, target, formatter) under comparison, how much of the tree is read for it, and whether its bot has
    the tools that reach all of a long document."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    driver: str
    target: str
    formatter: str
    ax: AxRead = "full"
    paging: bool = False

    @property
    def representation(self) -> str:
        """The formatter, what of the page it is given, and paging: the part of the arm that rows name."""
        return self.formatter + (BOUNDED if self.ax == "bounded" else "") + (PAGING if self.paging else "")

    def __str__(self) -> str:
        return f"{self.driver}/{self.target}/{self.representation}"


class SpecFile(BaseModel):
    """The form of SPEC.toml. Every key may be left out; the command line overrides what it names."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    arms: Annotated[list[str], Field(min_length=1)] | None = None
    tasks: Annotated[list[str], Field(min_length=1)] | None = None
    model: Annotated[str, StringConstraints(min_length=1)] | None = None
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] | None = None
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    fixtures: str | None = None


class RunSpec(BaseModel):
    """All that is held equal in a run. `tasks` are keys SUITE/NAME in the order of the run."""

    model_config = ConfigDict(strict=True, frozen=True, arbitrary_types_allowed=True)

    arms: tuple[Arm, ...]
    tasks: tuple[Task, ...]
    model: str
    repeats: int
    seed: int

    def digest(self, prompt_digest: str) -> str:
        """SHA-256 over everything that decides what a trial is; rows of another digest are never reused."""
        held = {
            "protocol": PROTOCOL,
            "arms": [str(arm) for arm in self.arms],
            "tasks": [[task.key, task.digest] for task in self.tasks],
            "model": self.model,
            "repeats": self.repeats,
            "seed": self.seed,
            "prompt": prompt_digest,
        }
        return hashlib.sha256(orjson.dumps(held, option=orjson.OPT_SORT_KEYS)).hexdigest()


def read_spec_file(path: Path) -> SpecFile:
    """SPEC.toml as data.

    Raises:
        SpecError: it cannot be read, is not TOML, or has a wrong or unknown key; the sentence names it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SPEC_BYTES + 1)
        if len(data) > MAX_SPEC_BYTES:
            raise SpecError(f"the spec {quoted(str(path))} is larger than {MAX_SPEC_BYTES} bytes")
        return SpecFile.model_validate(tomllib.loads(data.decode()))
    except OSError as error:
        raise SpecError(f"the spec {quoted(str(path))} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"the spec {quoted(str(path))} is not TOML: {quoted(str(error))}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "file"
        raise SpecError(
            f"the spec {quoted(str(path))} has a wrong key {quoted(key)}: {first['msg']};"
            f" it may have {', '.join(SpecFile.model_fields)}"
        ) from error


def with_options(given: SpecFile, options: Mapping[str, object]) -> SpecFile:
    """The spec with the command line's options over it; None: that option was not given.

    Raises:
        SpecError: an option has a value that no spec may have.
    """
    said = {key: value for key, value in options.items() if value is not None}
    try:
        return SpecFile.model_validate({**given.model_dump(), **said})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SpecError(f"the value of {quoted(key)} is not usable: {first['msg']}") from error


def parse_arm(text: str) -> Arm:
    """`DRIVER/TARGET/FORMATTER` as an arm whose parts exist and fit each other.

    Raises:
        SpecError: it is not of this form, or a part is not known; the sentence names those there are.
    """
    paging = text.endswith(PAGING)
    plain = text.removesuffix(PAGING)
    bounded = plain.endswith(BOUNDED)
    parts = plain.removesuffix(BOUNDED).split("/")
    if len(parts) != 3:
        raise SpecError(f"the arm {quoted(text)} must be DRIVER/TARGET/FORMATTER, such as {DEFAULT_ARMS[-1]}")
    for part, known, kind in zip(parts, (DRIVERS, TARGETS, FORMATTERS), ("driver", "target", "formatter"), strict=True):
        if part not in known:
            raise SpecError(f"the arm {quoted(text)} names no known {kind}; there are {', '.join(known)}")
    driver, target, formatter = parts
    if (driver == "fake") != (target == "fake"):
        raise SpecError(f"the arm {quoted(text)}: the driver fake and the target fake go with each other alone")
    if driver in WITHOUT_TREE and FORMATTERS[formatter].needs == "tree":
        raise SpecError(f"the arm {quoted(text)}: the driver {driver} has no tree for {formatter}; take conservative")
    if bounded:
        check_bounded(driver, formatter)
    if paging:
        check_paged(formatter)
    ax: AxRead = "bounded" if bounded else "full"
    return Arm(driver=driver, target=target, formatter=formatter, ax=ax, paging=paging)


def check_bounded(driver: str, formatter: str) -> None:
    """
    Raises:
        SpecError: the driver reads whole pages alone, or the formatter needs them.
    """
    if driver in WITHOUT_TREE:
        raise SpecError(f"the driver {driver} reads whole pages alone, not bounded; take current")
    if FORMATTERS[formatter].filled is None:
        able = ", ".join(name for name, known in FORMATTERS.items() if known.filled is not None)
        raise SpecError(f"the formatter {formatter} needs the whole page, not bounded; take {able}")


def check_paged(formatter: str) -> None:
    """
    Raises:
        SpecError: what the formatter shows of a document has no further pages.
    """
    if not FORMATTERS[formatter].paged:
        able = ", ".join(name for name, known in FORMATTERS.items() if known.paged)
        raise SpecError(f"the formatter {formatter} shows a document's beginning alone, without pages; take {able}")


def pick_tasks(names: Iterable[str] | None, known: Mapping[str, Task]) -> tuple[Task, ...]:
    """The tasks of these names, each a whole suite or SUITE/NAME; all of them for None. None twice.

    Raises:
        SpecError: a name is neither.
    """
    if names is None:
        return tuple(known.values())
    picked: dict[str, Task] = {}
    for name in names:
        found = [task for task in known.values() if name in (task.key, task.suite)]
        if not found:
            suites = sorted({task.suite for task in known.values()})
            raise SpecError(f"no task or suite is called {quoted(name)}; there are {', '.join([*suites, *known])}")
        picked.update((task.key, task) for task in found)
    return tuple(picked.values())


def build_spec(given: SpecFile, known: Mapping[str, Task]) -> RunSpec:
    """The spec of a run; what `given` leaves out is the default run.

    Raises:
        SpecError: an arm, a task or the model is not known, or an arm is named twice.
    """
    arms = tuple(parse_arm(text) for text in (given.arms or DEFAULT_ARMS))
    if len(set(arms)) != len(arms):
        raise SpecError("an arm is named twice")
    model = given.model or "scripted"
    default = [task.key for task in known.values() if task.default]
    if model not in ROUTES:
        raise SpecError(f"no model route is called {quoted(model)}; there are {', '.join(ROUTES)}")
    return RunSpec(
        arms=arms,
        tasks=pick_tasks(default if given.tasks is None else given.tasks, known),
        model=model,
        repeats=given.repeats if given.repeats is not None else 2,
        seed=given.seed if given.seed is not None else 1,
    )
