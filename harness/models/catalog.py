"""Name -> model route. A route is made anew for each trial."""

from collections.abc import Callable, Mapping, Sequence

from harness.models.base import Route
from harness.models.script import Step
from harness.models.scripted import ScriptedRoute

MakeRoute = Callable[[Sequence[Step], str], Route]
"""From a task's script and the address of its fixture run."""


def _scripted(steps: Sequence[Step], base_url: str) -> Route:
    return ScriptedRoute(steps, base_url)


ROUTES: Mapping[str, MakeRoute] = {"scripted": _scripted}
