"""Real browsers below the provider: a target's Chrome with a driver attached to it.

The only place of the project that brings a driver to a target; whoever wants a page asks the provider.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import psutil

from harness.config import Settings
from harness.drivers.base import Driver, DriverHost, DriverPage
from harness.drivers.catalog import DRIVERS, WITHOUT_TREE, start_driver
from harness.errors import AxtrialError, DriverError
from harness.host.pages import OpensOwnerPages, OwnerPage
from harness.host.runtime import DisposalFailed
from harness.host.scope import RuntimeKey
from harness.leftovers import HARD, RETRY_S, kill_group
from harness.process import finish
from harness.targets.base import Endpoint
from harness.targets.catalog import TARGETS, find_target

__all__ = ["DRIVERS", "TARGETS", "WITHOUT_TREE", "BrowserRuntime", "Browsers", "opened_browsers"]

KILLED_S = 4.0
"""Seconds for a killed Chrome to vanish."""


class Browsers:
    """The driver programs of this process, each started once, and the browsers that are made with them.

    `keep_profiles`: a profile's name is that of a folder which outlives the browser; else each browser has a new one.
    """

    def __init__(self, settings: Settings, stack: AsyncExitStack, *, keep_profiles: bool) -> None:
        self.settings = settings
        self.keep_profiles = keep_profiles
        self._stack = stack
        self._starting = asyncio.Lock()
        self.programs: dict[str, DriverHost] = {}

    async def program(self, name: str) -> DriverHost:
        """The driver program of that name, started where it does not run yet.

        Raises:
            UsageError: there is no such driver.
            DriverError: it cannot be started.
        """
        async with self._starting:
            if name not in self.programs:
                self.programs[name] = await self._stack.enter_async_context(start_driver(name, self.settings))
            return self.programs[name]

    def make(self, key: RuntimeKey) -> "BrowserRuntime":
        """A browser that is not started yet."""
        return BrowserRuntime(key, self)


@asynccontextmanager
async def opened_browsers(settings: Settings, *, keep_profiles: bool = False) -> AsyncIterator[Browsers]:
    """No driver runs yet; those that were started meanwhile are ended at the end."""
    async with AsyncExitStack() as stack:
        yield Browsers(settings, stack, keep_profiles=keep_profiles)


class BrowserRuntime:
    """One Chrome and the driver attached to it, as harness.host.runtime.Runtime asks."""

    def __init__(self, key: RuntimeKey, browsers: Browsers) -> None:
        self.key = key
        self.endpoint: Endpoint | None = None
        self._browsers = browsers
        self._stack = AsyncExitStack()
        self._driver: Driver | None = None
        self._chrome: psutil.Process | None = None
        self._first = True

    async def start(self) -> None:
        """Start the driver program where it does not run, then Chrome, and attach.

        Raises:
            UsageError: there is no such driver or target.
            TargetError, DriverError: it did not come up.
        """
        program = await self._browsers.program(self.key.driver)
        target = find_target(self.key.target)
        profile = self.key.profile if self._browsers.keep_profiles else None
        chrome = target(self._browsers.settings, profile=profile)
        self.endpoint = await self._stack.enter_async_context(chrome)
        self._chrome = _process(self.endpoint.pid)
        self._driver = await self._stack.enter_async_context(program.attach(self.endpoint))

    @property
    def alive(self) -> bool:
        """Whether Chrome runs."""
        return self._chrome is None or _runs(self._chrome)

    async def new_page(self) -> DriverPage:
        """The tab with which the browser came up; from the second call on, a new one.

        Raises:
            DriverError: it cannot be opened or attached to.
        """
        if self._driver is None:
            raise DriverError("The browser is not up.")
        first, self._first = self._first, False
        return await (self._driver.first_page() if first else self._driver.new_page())

    async def owner_page(self) -> OwnerPage:
        """A new page for an owner who verifies.

        Raises:
            DriverError: the driver has none, or it cannot be opened.
        """
        driver: object = self._driver
        if not isinstance(driver, OpensOwnerPages):
            raise DriverError("The browser is not up, or its driver has no pages for owners.")
        return await driver.owner_page()

    async def dispose(self) -> None:
        """Detach the driver and end Chrome; a second call ends what the first one left.

        Raises:
            DisposalFailed: Chrome still runs.
        """
        stack, self._stack = self._stack, AsyncExitStack()
        fault: AxtrialError | None = None
        try:
            await finish(stack.aclose())
        except AxtrialError as error:
            fault = error  # what counts is whether anything still runs
        if self._chrome is not None and not await asyncio.to_thread(_gone, self._chrome):
            raise DisposalFailed("Chrome could not be ended.") from fault

    def diagnostics(self) -> tuple[str, ...]:
        """What the driver noted of its work; it may quote page text."""
        return () if self._driver is None else self._driver.diagnostics()


def _process(pid: int) -> psutil.Process | None:
    """None: there is no process, or it has ended already."""
    if pid <= 0:
        return None
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _gone(chrome: psutil.Process) -> bool:
    """Whether Chrome has ended, by force where it must be; it leads a group of its own. Blocks for KILLED_S at most."""
    if not _runs(chrome):
        return True
    kill_group(chrome.pid, HARD)
    end = time.monotonic() + KILLED_S
    while _runs(chrome) and time.monotonic() < end:
        time.sleep(RETRY_S)
    return not _runs(chrome)


def _runs(process: psutil.Process) -> bool:
    """False also where it has ended and only waits for its parent."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
