"""A comparative run from what the user gave to its folder: what `axtrial run` does around the trials."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from formatters.errors import EncodingMissing
from formatters.tokens import load_encoding
from harness.config import ENCODING_FOLDER, Settings, prepare_encoding, whole_environment
from harness.errors import UsageError, quoted
from harness.targets.chrome import find_chrome
from harness.targets.display import find_screen
from harness.trial.ledger import MANIFEST, Ledger, new_ledger, resume_ledger
from harness.trial.manifest import new_manifest
from harness.trial.run import RunPlan, run
from harness.trial.schedule import schedule
from harness.trial.spec import SpecFile, build_spec
from harness.trial.tasks import Task, load_tasks
from reports.row import Row

if TYPE_CHECKING:
    from tiktoken import Encoding

FIXTURES = Path(__file__).parents[2] / "fixtures"
RUNS = Path("runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run that is checked and whose folder is there, before its first trial."""

    plan: RunPlan
    ledger: Ledger


def known_tasks(fixtures: Path | None) -> dict[str, Task]:
    """The tasks of the user's fixtures folder, else ours.

    Raises:
        SpecError: the folder or a task in it is not of the agreed form.
    """
    return load_tasks(FIXTURES if fixtures is None else fixtures)


def load_estimator(settings: Settings) -> "Encoding | None":
    """The encoding for token estimates; None where it cannot be had, and estimates are then not known."""
    if prepare_encoding(settings) is None:
        return None
    try:
        return load_encoding(folder=settings.cache_dir / ENCODING_FOLDER)
    except EncodingMissing:
        return None


def prepare(given: SpecFile, out: Path | None, *, resume: bool, settings: Settings) -> Prepared:
    """Check everything that can be checked before a browser starts, and open the run's folder.

    Raises:
        UsageError, SpecError: a wrong arm, task, model, fixture or folder.
        TargetError: a local arm, and no Chrome, or no display for its window.
        RunStopped: the folder cannot be written.
    """
    folder = out if out is not None else _default_folder(resume=resume)
    if resume:
        given = _filled_from(given, folder)
    spec = build_spec(given, known_tasks(Path(given.fixtures) if given.fixtures is not None else None))
    trials = schedule(spec)
    chrome = find_chrome(settings) if any(arm.target == "local" for arm in spec.arms) else None
    if chrome is not None and settings.headed:
        find_screen(whole_environment())
    manifest = new_manifest(spec, trials, None if chrome is None else chrome.version)
    manifest["fixtures"] = given.fixtures
    ledger = resume_ledger(folder, manifest) if resume else new_ledger(folder, manifest)
    encoding = load_estimator(settings)
    plan = RunPlan(
        spec=spec,
        trials=trials,
        settings=settings if chrome is None else settings.model_copy(update={"chrome": chrome.path}),
        encoding=encoding,
        encoding_name=None if encoding is None else encoding.name,
        chrome_version=None if chrome is None else chrome.version,
    )
    return Prepared(plan=plan, ledger=ledger)


async def carry_out(prepared: Prepared, ended: Callable[[Row], None]) -> tuple[Row, ...]:
    """Run what is left to run. Raises as harness.trial.run.run."""
    return await run(prepared.plan, prepared.ledger, ended)


def _default_folder(*, resume: bool) -> Path:
    if not resume:
        return RUNS / datetime.datetime.now(datetime.UTC).strftime("%Y%m%d-%H%M%S-%f")[:-3]
    earlier = sorted(folder for folder in RUNS.glob("*") if (folder / MANIFEST).is_file()) if RUNS.is_dir() else []
    if not earlier:
        raise UsageError(f"there is no run in {quoted(str(RUNS))} to resume; name its folder with --out")
    return earlier[-1]


def _filled_from(given: SpecFile, folder: Path) -> SpecFile:
    """What the user left out on --resume is as the manifest says; what differs is found by the digest."""
    try:
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        planned = SpecFile(
            arms=manifest["arms"],
            tasks=[f"{task['suite']}/{task['name']}" for task in manifest["tasks"]],
            model=manifest["model"],
            repeats=manifest["repeats"],
            seed=manifest["seed"],
            fixtures=manifest["fixtures"],
        )
    except OSError as error:
        raise UsageError(f"the folder {quoted(str(folder))} holds no run to resume: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{quoted(str(folder / MANIFEST))} is damaged: the run cannot be resumed") from error
    return planned.model_copy(update=given.model_dump(exclude_none=True))
