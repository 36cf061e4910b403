"""What a scripted bot does in some tasks of MiniWoB, from the goal alone. Also runs in BrowserGym's own environment."""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Act:
    """A click on the first element of that role and name, or a text into the `number`th text field, from 0."""

    role: str
    name: str = ""
    text: "str | None" = None
    number: int = 0


Policy = Callable[[str], "list[Act]"]


def _quoted(goal: str) -> "list[str]":
    return re.findall(r'"([^"]*)"', goal)


def _field(text: str, number: int = 0) -> Act:
    return Act("textbox", text=text, number=number)


def _chosen(role: str, goal: str) -> "list[Act]":
    """`Select a, b and click Submit.`"""
    names = goal.removeprefix("Select ").removesuffix(" and click Submit.")
    chosen = [] if names == "nothing" else names.split(", ")
    return [*(Act(role, name) for name in chosen), Act("button", "Submit")]


def _login(goal: str) -> "list[Act]":
    user, password = _quoted(goal)
    return [_field(user), _field(password, 1), Act("button", "Login")]


POLICIES: "dict[str, Policy]" = {
    "click-button": lambda goal: [Act("button", _quoted(goal)[0])],
    "click-checkboxes": lambda goal: _chosen("checkbox", goal),
    "click-option": lambda goal: _chosen("radio", goal),
    "click-tab": lambda goal: [Act("tab", goal.removeprefix("Click on ").removesuffix("."))],
    "click-test": lambda goal: [Act("button", "Click Me!")],
    "click-test-2": lambda goal: [Act("button", "ONE")],
    "enter-text": lambda goal: [_field(_quoted(goal)[0]), Act("button", "Submit")],
    "login-user": _login,
}
