"""How a trial ended: from what the bot said, what was last answered, and the fixture's own state. Pure."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from harness.trial.tasks import Task
from reports.row import Outcome

End = Literal["done", "gave_up", "limit_calls", "limit_time", "driver_failed", "route_failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Why the loop stopped. `detail` is one bounded sentence; `refused`: the last answer was a refusal."""

    end: End
    detail: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a row. `success` is None where the state cannot be judged; `wrong`: its wrong parts."""

    outcome: Outcome
    success: bool | None
    wrong: tuple[str, ...] = ()


def judge(ended: Ended, state: dict[str, JsonValue] | None, task: Task) -> Verdict:
    """The fixture's state decides; the bot's claim never does. A missing read-back is neither right nor wrong."""
    match ended.end:
        case "driver_failed":
            return Verdict(outcome="driver_failed", success=None)
        case "route_failed":
            return Verdict(outcome="route_failed", success=None)
        case _ if state is None:
            return Verdict(outcome="readback_missing", success=None)
        case "done" if task.is_right(state):
            return Verdict(outcome="completed", success=True)
        case "done":
            return Verdict(outcome="wrong_result", success=False, wrong=task.wrong_parts(state))
        case "gave_up":
            return Verdict(outcome="refused" if ended.refused else "bot_gave_up", success=False)
        case "limit_calls":
            return Verdict(outcome="limit_calls", success=False)
        case "limit_time":
            return Verdict(outcome="limit_time", success=False)
