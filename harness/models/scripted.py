"""The scripted route: a fixed policy that reads only what a model is shown, and gives up where that is not enough.

It finds each element in the text of the last rendering, as a model has to, so that a representation which loses what
the task needs fails the task. It never sees the page, the fixture's state or the driver.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.errors import quoted
from harness.models.base import Done, GiveUp, ModelReply, ModelRequest, RouteError, ToolCall
from harness.models.script import Step, fill, split_on
from harness.models.shown import ShownRef, read_body, read_refs

FAILED_ANSWERS = ("Refused:", "Failed:")
"""How the answer of a call that was not carried out begins."""


class _CannotGoOnError(Exception):
    """What was shown is not enough for the next step; its text is the reason."""


@dataclass(slots=True)
class ScriptedRoute:
    """Walks the steps of one task in one fixture run.

    `base_url` is the run's address, which ends in a slash and stands before the page names of `open`.
    """

    steps: Sequence[Step]
    base_url: str
    name: str = "scripted"
    _next: int = 0
    _rendering: str = ""
    _captured: dict[str, str] = field(default_factory=dict)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The next step's call; Done after the last one; GiveUp where the text shown is not enough.

        Raises:
            RouteError: the script has no steps.
        """
        if not self.steps:
            raise RouteError("the task has no script, so the route `scripted` cannot work on it")
        number = self._next
        try:
            self._take(request.latest)
            number += 1
            if self._next == len(self.steps):
                return ModelReply(action=Done(text="All steps of the script are done."))
            call = self._call(self.steps[self._next])
        except _CannotGoOnError as reason:
            return ModelReply(action=GiveUp(reason=f"Step {number}: {reason}"))
        self._next += 1
        return ModelReply(action=call)

    def _take(self, answer: str) -> None:
        """Check the answer of the last step, and keep what it shows."""
        if self._next == 0:
            return
        if answer.startswith(FAILED_ANSWERS):
            raise _CannotGoOnError(f"the tool answered {quoted(answer)}")
        step = self.steps[self._next - 1]
        if step.tool in ("observe", "find"):
            self._rendering = answer
        for wanted in step.see:
            text = fill(wanted, self._captured)
            if text not in answer:
                raise _CannotGoOnError(f"the answer does not show {quoted(text)}")
        for name, pattern in step.read.items():
            found = re.search(fill(pattern, self._captured, pattern=True), answer)
            if found is None or found[1] is None:
                raise _CannotGoOnError(f"the answer has nothing to read as {name}")
            self._captured[name] = found[1]

    def _call(self, step: Step) -> ToolCall:
        arguments: dict[str, JsonValue] = {}
        if step.on is not None:
            arguments["ref"] = self._find(step, step.on)
        if step.url is not None:
            arguments["url"] = self.base_url + step.url
        if step.text is not None:
            arguments["text"] = fill(step.text, self._captured)
        if step.option is not None:
            arguments["option"] = fill(step.option, self._captured)
        if step.regex is not None:
            arguments["regex"] = fill(step.regex, self._captured, pattern=True)
        plain: dict[str, JsonValue] = {
            "page": step.page,
            "key": step.key,
            "direction": step.direction,
            "amount": step.amount,
            "ms": step.ms,
            "accept": step.accept,
            "path": step.path,
            "action": step.action,
            "target_id": None if step.target_id is None else fill(step.target_id, self._captured),
        }
        arguments.update({name: value for name, value in plain.items() if value is not None})
        return ToolCall(name=step.tool, arguments=arguments)

    def _find(self, step: Step, on: str) -> str:
        """The one ref that the step means."""
        role, name = split_on(fill(on, self._captured))
        what = f"{role} {quoted(name)}"
        same = [ref for ref in read_refs(self._rendering) if ref.role == role and ref.name == name]
        if not same:
            raise _CannotGoOnError(f"no ref is {what}")
        if step.beside is not None:
            same = [same[self._position(fill(step.beside, self._captured), same)]]
        fitting = [ref for ref in same if _has_states(ref, step)]
        if not fitting:
            raise _CannotGoOnError(f"{what} is not in the state that the step needs")
        if len(fitting) > 1:
            raise _CannotGoOnError(f"{len(fitting)} refs are {what}")
        return fitting[0].ref

    def _position(self, beside: str, same: Sequence[ShownRef]) -> int:
        """Which of the equal refs the body shows first after the line with `beside`."""
        body = read_body(self._rendering)
        if body is None:
            raise _CannotGoOnError("the rendering has no fenced body")
        role, name = same[0].role, same[0].name
        showing = [ref.at for ref in same if ref.at is not None]
        showing = showing or [at for at, line in enumerate(body.lines) if body.shows(line, role, name)]
        if len(showing) != len(same):
            raise _CannotGoOnError(
                f"the body shows {role} {quoted(name)} {len(showing)} times, but there are {len(same)} such refs"
            )
        line = next((at for at, line in enumerate(body.lines) if beside in line), None)
        if line is None:
            raise _CannotGoOnError(f"the body does not show {quoted(beside)}")
        position = next((order for order, at in enumerate(showing) if at > line), None)
        if position is None:
            raise _CannotGoOnError(f"no {role} {quoted(name)} comes after {quoted(beside)}")
        return position


def _has_states(ref: ShownRef, step: Step) -> bool:
    for name, wanted in step.state.items():
        shown = ref.states.get(name)
        match wanted:
            case True:
                fits = shown is True or shown == "true"
            case False:
                fits = shown is None or shown == "false"
            case _:
                fits = shown == wanted
        if not fits:
            return False
    return True
