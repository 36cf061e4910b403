"""The versioned record of one trial: one line of rows.jsonl. Every number may be None, which means not known."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

ROW_VERSION: Literal[1] = 1

Outcome = Literal[
    "completed",
    "wrong_result",
    "limit_calls",
    "limit_time",
    "refused",
    "bot_gave_up",
    "readback_missing",
    "route_failed",
    "driver_failed",
    "target_failed",
    "interrupted",
]

NOT_COMPARABLE: frozenset[Outcome] = frozenset(
    {"route_failed", "driver_failed", "target_failed", "readback_missing", "interrupted"}
)
"""Outcomes of faults around the trial: shown and counted, but their block gives no paired difference."""

STAGES = (
    "attach",
    "navigate",
    "ax",
    "text",
    "dom",
    "format",
    "model",
    "act",
    "settle",
    "wait",
    "approval",
    "queue",
    "authority",
    "harness",
)


class RowError(ValueError):
    """A line of rows.jsonl that is not a row of a known version."""


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class StageTime(_Record):
    """Times of one stage of a trial, in milliseconds. `n` counts its samples."""

    n: int
    sum: float
    median: float
    max: float


class Usage(_Record):
    """Tokens as the model route reported them; never an estimate. None: not reported."""

    input_uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    total: int | None = None


class Platform(_Record):
    """The machine of a trial."""

    os: str
    architecture: str


class Row(_Record):
    """One trial: one arm on one task once. Names and units as in docs/cli.md, section "A row"."""

    row_version: Literal[1] = ROW_VERSION
    trial_id: str
    block_id: str
    protocol: str
    spec_digest: str
    driver: str
    target: str
    formatter: str
    suite: str
    task: str
    repeat: int
    seed: int
    position: int
    started_at: str
    outcome: Outcome
    success: bool | None
    deviations: list[str] = Field(default_factory=list)
    calls: int | None = None
    observations: int | None = None
    refusals: int | None = None
    errors: int | None = None
    retries: int | None = None
    wall_s: float | None = None
    approval_s: float | None = None
    wall_excl_approval_s: float | None = None
    call_s: float | None = None
    model_s: float | None = None
    stages: dict[str, StageTime] = Field(default_factory=dict)
    obs_chars: int | None = None
    obs_utf8_bytes: int | None = None
    obs_chars_over_4: int | None = None
    est_tokens: int | None = None
    est_encoding: str | None = None
    usage: Usage | None = None
    facts_kept: int | None = None
    facts_total: int | None = None
    driver_version: str | None = None
    browser_version: str | None = None
    platform: Platform | None = None
    image: str | None = None
    error: str | None = None

    @property
    def arm(self) -> str:
        """The arm as it is written on the command line: DRIVER/TARGET/FORMATTER."""
        return f"{self.driver}/{self.target}/{self.formatter}"


def parse_row(line: str) -> Row:
    """Decode one line of rows.jsonl.

    Raises:
        RowError: the line is not JSON, has an unknown version, or a wrong or unknown field.
    """
    try:
        return Row.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "line"
        raise RowError(f"not a row of version {ROW_VERSION}: {where}: {first['msg']}") from error
