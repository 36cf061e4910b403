"""Typed reading of manifest.json.

Lenient on purpose: a report must be drawn from old and newer runs, so an absent or odd value reads as not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One scheduled trial; it may have no row yet."""

    trial_id: str
    block_id: str
    arm: str
    suite: str
    repeat: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInfo:
    """One task as it was when the run was made."""

    suite: str
    name: str
    goal: str | None
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a run was meant to be: the decoded manifest.json behind typed accessors."""

    data: Mapping[str, object]

    def text(self, key: str) -> str | None:
        """The value of a top-level key as text, numbers included; None if absent or not a scalar."""
        return _text(self.data.get(key))

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in the order in which they were named; the first is the baseline."""
        return _texts(self.data.get("arms"))

    @property
    def deviations(self) -> tuple[str, ...]:
        """What broke the protocol for the run as a whole."""
        return _texts(self.data.get("deviations"))

    @property
    def schedule(self) -> tuple[Planned, ...]:
        """The planned trials in order; entries that name no trial, block and arm are left out."""
        planned = []
        for entry in _mappings(self.data.get("schedule")):
            trial, block, arm = (_text(entry.get(key)) for key in ("trial_id", "block_id", "arm"))
            if trial is None or block is None or arm is None:
                continue
            repeat = entry.get("repeat")
            planned.append(
                Planned(
                    trial_id=trial,
                    block_id=block,
                    arm=arm,
                    suite=_text(entry.get("suite")) or "",
                    repeat=repeat if isinstance(repeat, int) else None,
                )
            )
        return tuple(planned)

    @property
    def tasks(self) -> tuple[TaskInfo, ...]:
        """The tasks of the run."""
        return tuple(
            TaskInfo(
                suite=_text(entry.get("suite")) or "",
                name=_text(entry.get("name")) or "",
                goal=_text(entry.get("goal")),
                digest=_text(entry.get("digest")),
            )
            for entry in _mappings(self.data.get("tasks"))
        )

    @property
    def versions(self) -> tuple[tuple[str, str | None], ...]:
        """Names and versions, those of the drivers last; a version is None if it is not known."""
        versions = self.data.get("versions")
        if not isinstance(versions, Mapping):
            return ()
        drivers = versions.get("drivers")
        plain = [(str(name), _text(value)) for name, value in versions.items() if name != "drivers"]
        nested = drivers.items() if isinstance(drivers, Mapping) else ()
        return (*plain, *((f"driver {name}", _text(value)) for name, value in nested))

    @property
    def machine(self) -> str | None:
        """Operating system and architecture, or None."""
        platform = self.data.get("platform")
        if not isinstance(platform, Mapping):
            return None
        parts = [part for key in ("os", "architecture") if (part := _text(platform.get(key)))]
        return ", ".join(parts) or None


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    # A bool is an int to Python, and no key of ours is one.
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
