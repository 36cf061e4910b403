"""The record of one trial while it runs: a line of steps.jsonl for each call, and the sums that its row needs."""

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import orjson

from formatters.escape import encodable
from formatters.tokens import estimate
from harness.errors import RunStopped
from harness.host.calls import CallTimes
from harness.host.stages import Stages
from harness.models.base import ToolCall
from harness.tools.answer import Answer
from harness.trial.ledger import write_all
from reports.row import StageTime, Usage

if TYPE_CHECKING:
    from tiktoken import Encoding

ELSEWHERE = (
    "attach",
    "navigate",
    "ax",
    "text",
    "dom",
    "model",
    "act",
    "settle",
    "wait",
    "approval",
    "queue",
    "authority",
)
"""Stages that are driver, page, model, a person, a prescribed wait or the provider; all else of a call is the harness,
formatting included.
"""

MAX_NAME_CHARS = 64
"""Characters of a tool's name as the model gave it; ours have at most 13."""

MAX_ODD_CHARS = 2_000
"""Characters kept of arguments that no JSON can hold."""


@dataclass(slots=True, kw_only=True)
class StepLog:
    """One trial's calls. `encoding` None: token estimates are not known. `file` is open for appending, unbuffered."""

    folder: Path
    file: BinaryIO
    encoding: "Encoding | None"
    facts: tuple[str, ...]
    started: float = field(default_factory=time.perf_counter)
    calls: int = 0
    observations: int = 0
    refusals: int = 0
    errors: int = 0
    call_s: float = 0.0
    approval_s: float = 0.0
    obs_chars: int = 0
    obs_utf8_bytes: int = 0
    est_tokens: int = 0
    samples: dict[str, list[float]] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    _usage: list[Usage] = field(default_factory=list)

    def turn(self) -> "Turn":
        """Begin one turn of the loop: a model's reply and the call that it asks for."""
        return Turn(log=self)

    def sample(self, stage: str, ms: float) -> None:
        """Add one measured time of a stage, in milliseconds."""
        self.samples.setdefault(stage, []).append(ms)

    def count_usage(self, usage: Usage | None) -> None:
        """Keep what a route reported; a reply without usage adds nothing."""
        if usage is not None:
            self._usage.append(usage)

    def usage(self) -> Usage | None:
        """The sum of what was reported; None where nothing was, also for single fields."""
        if not self._usage:
            return None
        sums = {}
        for name in Usage.model_fields:
            known = [value for usage in self._usage if (value := getattr(usage, name)) is not None]
            sums[name] = sum(known) if known else None
        return Usage(**sums)

    def facts_kept(self) -> int:
        """How many of the task's facts the model was shown at some time."""
        return len(self._kept)

    def stages(self) -> dict[str, StageTime]:
        """Count, sum, median and maximum of each stage, in milliseconds."""
        return {
            name: StageTime(n=len(times), sum=sum(times), median=statistics.median(times), max=max(times))
            for name, times in self.samples.items()
        }

    def count(self, answer: Answer) -> int | None:
        """Add an answer to the sums; the token estimate of its rendering, where there are both."""
        self._kept.update(fact for fact in self.facts if fact not in self._kept and fact in answer.text)
        self.refusals += answer.refused
        self.errors += answer.outcome != "ok" and not answer.refused
        if answer.rendering is None:
            return None
        self.observations += 1
        self.obs_chars += answer.rendering.chars
        self.obs_utf8_bytes += answer.rendering.utf8_bytes
        if self.encoding is None:
            return None
        tokens = estimate(answer.rendering.text, self.encoding)
        self.est_tokens += tokens
        return tokens

    def write(self, line: bytes) -> None:
        """Append one line.

        Raises:
            RunStopped: the disk is full or the folder is gone.
        """
        try:
            write_all(self.file, line + b"\n")
        except OSError as error:
            raise RunStopped(f"a step cannot be written: {error.strerror}") from error

    def save_driver_log(self, lines: tuple[str, ...]) -> None:
        """Put what the driver noted beside the steps; nothing noted, no file.

        Raises:
            RunStopped: the disk is full or the folder is gone.
        """
        if not lines:
            return
        try:
            (self.folder / "driver.log").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        except OSError as error:
            raise RunStopped(f"the driver's log cannot be written: {error.strerror}") from error

    def save_screenshot(self, picture: bytes, number: int) -> None:
        """Put a picture beside the steps.

        Raises:
            RunStopped: the disk is full or the folder is gone.
        """
        try:
            (self.folder / f"step-{number:03d}.jpg").write_bytes(picture)
        except OSError as error:
            raise RunStopped(f"a screenshot cannot be written: {error.strerror}") from error


@dataclass(slots=True, kw_only=True)
class Turn:
    """One turn, from the question to the model until its call is recorded."""

    log: StepLog
    stages: Stages = field(default_factory=Stages)
    _start: float = field(default_factory=time.perf_counter)

    def end(self) -> None:
        """The model ended the trial instead of calling a tool: only its own time counts."""
        self.log.sample("model", self.stages.ms["model"])

    def finish(self, call: ToolCall, answer: Answer, times: CallTimes) -> None:
        """Record the call. What of the turn's time no stage accounts for is the harness's own."""
        log = self.log
        log.calls += 1
        log.approval_s += (times.approval_ms or 0.0) / 1000
        for name, ms in _stages_of(times).items():
            self.stages.add(name, ms)
        tokens = log.count(answer)
        if answer.screenshot is not None:
            log.save_screenshot(answer.screenshot, log.calls)
        log.write(_encoded(self._line(call, answer, tokens)))
        elsewhere = sum(ms for name, ms in self.stages.ms.items() if name in ELSEWHERE)
        self.stages.add("harness", (time.perf_counter() - self._start) * 1000 - elsewhere)
        for name, ms in self.stages.ms.items():
            log.sample(name, ms)

    def _line(self, call: ToolCall, answer: Answer, tokens: int | None) -> dict[str, object]:
        """A line of steps.jsonl. Typed text is kept: the trial's folder is evidence, and its fixtures are synthetic."""
        shown = answer.rendering
        return {
            "n": self.log.calls,
            "at_ms": round((self._start - self.log.started) * 1000, 3),
            "tool": encodable(call.name[:MAX_NAME_CHARS]),
            "arguments": call.arguments,
            "answer": _SHOWN if shown is not None else answer.text,
            "outcome": answer.outcome,
            "rendering": None if shown is None else shown.text,
            "chars": None if shown is None else shown.chars,
            "utf8_bytes": None if shown is None else shown.utf8_bytes,
            "est_tokens": tokens,
            "verbatim": None if shown is None else shown.verbatim,
            "truncated": None if shown is None else shown.truncated,
            "stages_ms": {name: round(ms, 3) for name, ms in self.stages.ms.items()},
            "input_sent": answer.input_sent,
        }


_SHOWN = "the rendering"


def _stages_of(times: CallTimes) -> dict[str, float]:
    """The stages of one call: the tool's own, and what the provider took around it."""
    asked = {} if times.approval_ms is None else {"approval": times.approval_ms}
    return {**times.stages.ms, **asked, "queue": times.wait_ms, "authority": times.authority_ms}


def _encoded(line: dict[str, object]) -> bytes:
    """A line as JSON. What a model gave as arguments may be nothing that UTF-8 or other readers of JSON can hold."""
    try:
        return orjson.dumps(line)
    except orjson.JSONEncodeError:
        given = encodable(repr(line["arguments"])[:MAX_ODD_CHARS])
        return orjson.dumps({**line, "arguments": {"not JSON": given}})
