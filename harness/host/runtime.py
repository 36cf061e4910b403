"""Browsers by profile: one at a time, its start shared, its end behind one barrier.

A profile has at most one browser, whatever target and driver it runs under. The next one starts only after the one
before is known to be gone; where that fails, the profile is blocked until a later attempt succeeds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from harness.drivers.base import DriverPage
from harness.errors import AxtrialError, DriverError
from harness.host.lane import Guard
from harness.host.scope import RuntimeKey
from observe.errors import CleanupRequired, DriverGone

START_S = 120.0
"""Seconds for a browser to come up, a container's pull not included."""

DISPOSE_S = 30.0
"""Seconds for one attempt to end a browser: polite and hard end of child and Chrome take at most 10."""

BLOCKED = "An earlier browser of this profile could not be ended; a person must use Stop."


class DisposalFailed(AxtrialError):
    """Something of a browser may still run; `dispose` may be called again."""


class Runtime(Protocol):
    """One browser with its driver. Each method may be cancelled; `dispose` may follow at any point, also repeatedly."""

    async def start(self) -> None:
        """Bring it up.

        Raises:
            TargetError, DriverError: it did not come up; `dispose` is still called.
        """
        ...

    @property
    def alive(self) -> bool:
        """Whether it runs, once it has come up; it may have ended by itself."""
        ...

    async def new_page(self) -> DriverPage:
        """A new tab."""
        ...

    async def dispose(self) -> None:
        """End it, whether it came up or not.

        Raises:
            DisposalFailed: not all of it is known to be gone.
        """
        ...


MakeRuntime = Callable[[RuntimeKey], Runtime]
"""Makes a runtime that is not started yet; does no work."""


class Slot:
    """The place of one profile's browser. `failures` counts the attempts to end one that failed."""

    def __init__(self, make: MakeRuntime) -> None:
        self._make = make
        self._start: asyncio.Task[None] | None = None
        self._cleanup: asyncio.Task[None] | None = None
        self.runtime: Runtime | None = None
        self._left = False  # whether something of the last browser may still be there
        self.failures = 0

    @property
    def blocked(self) -> bool:
        """Whether the last attempt to end a browser failed, and no other is under way."""
        return self._left and self._cleanup is None

    async def ready(self) -> None:
        """Wait until no cleanup is under way.

        Raises:
            CleanupRequired: it failed.
        """
        while self._cleanup is not None:
            await asyncio.wait({self._cleanup})
        if self.blocked:
            raise CleanupRequired(BLOCKED)

    async def started(self, key: RuntimeKey, guard: Guard) -> Runtime:
        """The running browser; where there is none, it is started, once for all who wait.

        Raises:
            CleanupRequired: as `ready`.
            TargetError, DriverError: it did not come up.
            DriverGone: it was ended while it came up.
            Whatever `guard` raises, before anything is started and after it.
        """
        await self.ready()
        guard()
        if self.runtime is not None and self._start is not None and self._start.done() and not self.runtime.alive:
            await self.lost(self.runtime)  # it ended by itself, and no call has noticed yet
            await self.ready()
            guard()
        if self.runtime is None or self._start is None:
            self.runtime = self._make(key)
            self._start = _task(self._bring_up(self.runtime))
        runtime, start = self.runtime, self._start
        await asyncio.wait({start})
        if start.cancelled():
            raise DriverGone("The browser was ended while it came up.")
        start.result()
        guard()
        return runtime

    async def _bring_up(self, runtime: Runtime) -> None:
        up = False
        try:
            async with asyncio.timeout(START_S):
                await runtime.start()
            up = True
        except TimeoutError as error:
            raise DriverError(f"The browser did not come up within {START_S:g} s.") from error
        except asyncio.CancelledError:
            up = True  # who ends the start ends the rest too
            raise
        finally:
            if not up:
                self._queue(self._dispose)

    async def dispose(self) -> None:
        """End the browser, also one that is coming up, or try again; whoever waits for the profile waits for this.

        The work goes on where the caller is cancelled.

        Raises:
            CleanupRequired: it could not be ended.
        """
        await self.clean(self._dispose)
        if self._left:
            raise CleanupRequired(BLOCKED)

    async def lost(self, runtime: Runtime) -> None:
        """That browser ended by itself: clear up what is left of it, unless that was done.

        Raises:
            CleanupRequired: as `dispose`.
        """

        async def end() -> None:
            if self.runtime is runtime:  # a cleanup that was under way may have ended it
                await self._dispose()

        await self.clean(end)
        if self._left:
            raise CleanupRequired(BLOCKED)

    async def clean(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Carry out `work` behind the barrier, after the cleanup under way, also where the caller is cancelled."""
        await asyncio.shield(self._queue(work))

    def _queue(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        before = self._cleanup

        async def run() -> None:
            try:
                if before is not None:
                    await asyncio.wait({before})
                await work()
            finally:
                if self._cleanup is task:
                    self._cleanup = None

        task = self._cleanup = _task(run())
        return task

    async def _dispose(self) -> None:
        runtime, start = self.runtime, self._start
        if runtime is None or start is None:
            return
        self._left = True  # until it is known to be gone
        try:
            async with asyncio.timeout(DISPOSE_S):
                start.cancel()
                await asyncio.wait({start})
                await runtime.dispose()
        except (DisposalFailed, TimeoutError):
            return
        else:
            self.runtime = self._start = None
            self._left = False
        finally:
            self.failures += self._left


class Slots:
    """The slots of all profiles that were ever used."""

    def __init__(self, make: MakeRuntime) -> None:
        self._make = make
        self._slots: dict[str, Slot] = {}

    def of(self, profile: str) -> Slot:
        """The slot of a profile."""
        return self._slots.setdefault(profile, Slot(self._make))

    def profiles(self) -> tuple[str, ...]:
        """All that have a slot."""
        return tuple(self._slots)


def _task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task whose error nobody needs to fetch: the one who began it may have been cancelled meanwhile."""
    task = asyncio.create_task(work)
    task.add_done_callback(_fetch)
    return task


def _fetch(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()


async def bounded(work: Awaitable[None], bound_s: float) -> bool:
    """Whether `work` ended within `bound_s` seconds."""
    try:
        async with asyncio.timeout(bound_s):
            await work
    except TimeoutError:
        return False
    return True
