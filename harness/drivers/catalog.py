"""The drivers by name. A driver's module is imported only when it is started, so that `fake` needs no Playwright."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from types import MappingProxyType

from harness.config import Settings
from harness.drivers.base import DriverHost
from harness.errors import UsageError, quoted

DRIVERS: Mapping[str, str] = MappingProxyType(
    {
        "agent-browser": "harness.drivers.agent_browser:start",
        "current": "harness.drivers.current:start",
        "fake": "harness.drivers.fake:start",
    }
)
"""Name -> `module:function`; the function takes the settings and gives the driver program as a context manager."""


WITHOUT_TREE = frozenset({"agent-browser"})
"""Drivers that hand over native text alone, so that a formatter of the tree has nothing to work on."""


def start_driver(name: str, settings: Settings) -> AbstractAsyncContextManager[DriverHost]:
    """The driver program of that name, started for as long as the block runs.

    Raises:
        UsageError: there is no such driver; the sentence lists those that are.
    """
    if name not in DRIVERS:
        raise UsageError(f"There is no driver {quoted(name)}; the drivers are {', '.join(sorted(DRIVERS))}.")
    module, _, function = DRIVERS[name].partition(":")
    start: Callable[[Settings], AbstractAsyncContextManager[DriverHost]] = getattr(import_module(module), function)
    return start(settings)
