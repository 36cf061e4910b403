"""What manifest.json says of a run: what it is, before its first trial, and with which versions it ran."""

import datetime
import platform
from collections.abc import Mapping
from importlib.metadata import version

from pydantic import JsonValue

from harness.trial.bot import PROMPT_DIGEST
from harness.trial.ledger import Ledger
from harness.trial.schedule import Planned
from harness.trial.spec import PROTOCOL, RunSpec


def record_versions(ledger: Ledger, programs: Mapping[str, str], chrome: str | None) -> None:
    """Put the versions of what runs now into the manifest; a run that goes on with others has a deviation."""
    found = ledger.manifest.get("versions")
    versions = dict(found) if isinstance(found, dict) else {}
    drivers = versions.get("drivers")
    drivers = dict(drivers) if isinstance(drivers, dict) else {}
    now = {"chrome": chrome, "python": platform.python_version(), "axtrial": version("axtrial")}
    pairs = [(name, versions.get(name), value) for name, value in now.items()]
    pairs += [(f"driver {name}", drivers.get(name), value) for name, value in programs.items()]
    for name, before, value in pairs:
        if before is not None and before != value:
            ledger.deviate(f"the run was resumed with {name} {value}, and was begun with {before}")
    merged: dict[str, JsonValue] = {**versions, "drivers": {**drivers, **programs}}
    if merged != found:
        ledger.manifest["versions"] = merged
        ledger.save_manifest()


def new_manifest(spec: RunSpec, trials: tuple[Planned, ...], chrome: str | None) -> dict[str, JsonValue]:
    """What a run is, before its first trial (docs/cli.md, "A run's folder")."""
    return {
        "protocol": PROTOCOL,
        "created_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seed": spec.seed,
        "repeats": spec.repeats,
        "spec_digest": spec.digest(PROMPT_DIGEST),
        "prompt_digest": PROMPT_DIGEST,
        "model": spec.model,
        "arms": [str(arm) for arm in spec.arms],
        "tasks": [
            {"suite": task.suite, "name": task.name, "goal": task.goal, "digest": task.digest} for task in spec.tasks
        ],
        "schedule": [
            {
                "trial_id": planned.trial_id,
                "block_id": planned.block_id,
                "arm": str(planned.arm),
                "suite": planned.task.suite,
                "task": planned.task.name,
                "repeat": planned.repeat,
                "position": planned.position,
            }
            for planned in trials
        ],
        "versions": {
            "chrome": chrome,
            "python": platform.python_version(),
            "axtrial": version("axtrial"),
            "drivers": {},
        },
        "platform": {"os": platform.system(), "architecture": platform.machine()},
        "image": None,
        "deviations": [],
    }
