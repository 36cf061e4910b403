"""Synthetic runs: three arms on two suites, two repeats, every number chosen by hand or by a plain rule."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.row import Row

ARMS = ("current/local/page-text", "current/local/conservative", "current/local/structured")
_SIZES = {"page-text": 1000, "conservative": 2400, "structured": 2000}

MakeRow = Callable[..., Row]
WriteRun = Callable[..., Path]


def _row(**changes: Any) -> Row:
    fields: dict[str, Any] = {
        "trial_id": "notes.simple.r1.a",
        "block_id": "notes.simple.r1",
        "protocol": "1",
        "spec_digest": "d1",
        "driver": "current",
        "target": "local",
        "formatter": "structured",
        "suite": "notes",
        "task": "simple",
        "repeat": 1,
        "seed": 7,
        "position": 0,
        "started_at": "2026-01-01T00:00:00Z",
        "outcome": "completed",
        "success": True,
    }
    return Row.model_validate(fields | changes)


def _time(median: float, *, n: int = 4) -> dict[str, Any]:
    return {"n": n, "sum": median * n, "median": median, "max": median * 3}


def _full(arm: str, suite: str, repeat: int, position: int) -> Row:
    driver, target, formatter = arm.split("/")
    scale = (3 if suite == "orders" else 1) * _SIZES[formatter]
    return _row(
        trial_id=f"{suite}.r{repeat}.{formatter}",
        block_id=f"{suite}.r{repeat}",
        driver=driver,
        target=target,
        formatter=formatter,
        suite=suite,
        task="simple" if suite == "notes" else "complex",
        repeat=repeat,
        position=position,
        calls=15,
        observations=7,
        refusals=0,
        errors=0,
        retries=0,
        wall_s=4.0 + repeat,
        approval_s=0.0,
        wall_excl_approval_s=4.0 + repeat,
        obs_chars=scale + 10 * repeat,
        obs_utf8_bytes=scale + 12 * repeat,
        obs_chars_over_4=(scale + 10 * repeat) // 4,
        est_tokens=scale // 4 + repeat,
        est_encoding="o200k_base",
        facts_kept=12,
        facts_total=12,
        stages={"attach": _time(600.0, n=1), "ax": _time(scale / 100 + repeat), "format": _time(0.5)},
        driver_version="1.0",
        browser_version="140.0",
        platform={"os": "Linux", "architecture": "x86_64"},
    )


@pytest.fixture
def make_row() -> MakeRow:
    """A row with nothing known beyond what every row must have; changes by keyword."""
    return _row


@pytest.fixture
def rows() -> list[Row]:
    """Three arms, two suites, two repeats; the second repeat runs the arms in reverse order."""
    made = []
    for suite in ("notes", "orders"):
        for repeat, order in ((1, ARMS), (2, tuple(reversed(ARMS)))):
            made += [_full(arm, suite, repeat, position) for position, arm in enumerate(order)]
    return made


@pytest.fixture
def manifest() -> dict[str, Any]:
    """The manifest of `rows`."""
    return {
        "protocol": "1",
        "seed": 7,
        "schedule": [
            {
                "trial_id": f"{suite}.r{repeat}.{arm.split('/')[2]}",
                "block_id": f"{suite}.r{repeat}",
                "arm": arm,
                "suite": suite,
                "task": "simple" if suite == "notes" else "complex",
                "repeat": repeat,
                "position": position,
            }
            for suite in ("notes", "orders")
            for repeat, order in ((1, ARMS), (2, tuple(reversed(ARMS))))
            for position, arm in enumerate(order)
        ],
        "arms": list(ARMS),
        "tasks": [
            {"suite": "notes", "name": "simple", "goal": "Write two notes.", "digest": "t1"},
            {"suite": "orders", "name": "complex", "goal": "Place one order.", "digest": "t2"},
        ],
        "prompt_digest": "p1",
        "spec_digest": "d1",
        "model": "scripted",
        "versions": {"chrome": "140.0", "python": "3.11.9", "axtrial": "0.1.0", "drivers": {"current": "1.0"}},
        "platform": {"os": "Linux", "architecture": "x86_64"},
        "image": None,
        "deviations": [],
        "created_at": "2026-01-01T00:00:00Z",
    }


@pytest.fixture
def write_run(tmp_path: Path, manifest: dict[str, Any]) -> WriteRun:
    """Writes a run's folder from rows and, by trial id, steps; returns the folder."""

    def write(rows: Sequence[Row], steps: Mapping[str, Sequence[Mapping[str, Any]]] | None = None) -> Path:
        folder = tmp_path / "run"
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(manifest))
        (folder / "rows.jsonl").write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
        for trial, lines in (steps or {}).items():
            home = folder / "trials" / trial
            home.mkdir(parents=True)
            (home / "steps.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return folder

    return write
