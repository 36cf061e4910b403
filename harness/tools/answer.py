"""What a bot is told of one call. Page text in it is quoted and bounded, and native error text never reaches it."""

from dataclasses import dataclass

from formatters.render import Rendering
from harness.errors import AxtrialError, TargetError
from harness.host.calls import BadCall
from observe.errors import DriverGone, ObservationError, Refusal
from observe.model import Observation

REFUSED = "Refused: "
FAILED = "Failed: "

_NO_REFUSAL = frozenset({"ok", "bad_call", "malformed_read", "target_failed", "driver_failed"})

Told = ObservationError | BadCall | AxtrialError
"""The errors that are an answer; any other is a fault of the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the bot is told.

    `outcome` is `ok`, a refusal's kind, `bad_call`, `malformed_read`, or where no browser came up `target_failed` or
    `driver_failed`.
    """

    text: str
    outcome: str = "ok"
    observation: Observation | None = None
    rendering: Rendering | None = None
    screenshot: bytes | None = None
    input_sent: bool | None = None
    fault: bool = False
    """The driver or the target, not the page or the bot, made the call impossible."""

    @property
    def refused(self) -> bool:
        """Whether a refusal of docs/observation.md, section 5, was the answer."""
        return self.outcome not in _NO_REFUSAL


def answer_to(error: Told) -> Answer:
    """The answer where a call was not carried out."""
    match error:
        case Refusal():
            fault = isinstance(error, DriverGone)
            text = f"{REFUSED}{error.message}"
            return Answer(text=text, outcome=error.kind, input_sent=error.input_sent, fault=fault)
        case BadCall():
            return Answer(text=f"{FAILED}{error}", outcome="bad_call")
        case TargetError():
            return Answer(text=f"{FAILED}no browser could be started.", outcome="target_failed", fault=True)
        case AxtrialError():
            return Answer(text=f"{FAILED}the browser cannot be spoken to.", outcome="driver_failed", fault=True)
        case _:
            text = f"{FAILED}the driver gave an answer of an unknown form."
            return Answer(text=text, outcome="malformed_read", fault=True)
