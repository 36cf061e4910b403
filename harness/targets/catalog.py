"""Name -> target. Late import, so that a target's own needs arise only where it is used."""

from collections.abc import Mapping
from importlib import import_module

from harness.errors import UsageError, quoted
from harness.targets.base import Target

TARGETS: Mapping[str, str] = {"local": "harness.targets.local:local", "fake": "harness.targets.fake:fake"}


def find_target(name: str) -> Target:
    """The target of that name.

    Raises:
        UsageError: there is none; names those there are.
    """
    if name not in TARGETS:
        raise UsageError(f"no target is called {quoted(name)}; there are {', '.join(TARGETS)}")
    module, _, function = TARGETS[name].partition(":")
    target: Target = getattr(import_module(module), function)
    return target
