"""The pages of owners who verify: one lazy page each, in one persistent browser context (ADR-0031).

An owner's place is taken before anything is awaited, and given back before its page is closed. Whatever ends a page
takes its entry out of the registry first; who still works on that entry finds it gone after the next wait, and closes
what it has made. Access is off at first; turning it off goes before every call in flight.
"""

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from pydantic import JsonValue

from harness.errors import AxtrialError, DriverError, OwnerError
from harness.finish import finish
from harness.host.owners import Admit, Owners, parent_and_children
from harness.host.runtime import MakeRuntime, Slot
from harness.host.scope import DEFAULT_DRIVER, DEFAULT_TARGET, RuntimeKey
from harness.process import private_folder
from observe.errors import ObservationError
from observe.events import ConsoleEntry, NetworkEntry, Taken

T = TypeVar("T")

PAGE = "page"
"""The id of an owner's only page in the registry."""

CLOSE_S = 5.0
"""Seconds that an ending waits for a page to close; a page that still opens closes itself later."""

BROWSER = RuntimeKey(target=DEFAULT_TARGET, driver=DEFAULT_DRIVER, profile="subagents")
"""The browser whose context all owners share: cookies and storage, but no page, console or network."""


class GateOff(OwnerError):
    """Browser access is off."""


class PageReaped(OwnerError):
    """The owner's page was ended while it opened."""


class ContextClosed(OwnerError):
    """The browser was closed meanwhile."""


class Loaded(Protocol):
    """How a load ended. `status` 0: there was no response."""

    @property
    def status(self) -> int: ...

    @property
    def final_url(self) -> str: ...


class Log(Protocol):
    """Console and network of a page."""

    def take_console(self, *, clear: bool) -> Taken[ConsoleEntry]: ...

    def take_network(self, *, clear: bool) -> Taken[NetworkEntry]: ...


class OwnerPage(Protocol):
    """What is asked of a driver's page; harness.drivers.owner_page has it. Times are in milliseconds.

    Raises from every operation:
        OperationFailed, OperationTimedOut, OwnerPageGone.
    """

    @property
    def log(self) -> Log: ...

    @property
    def blank(self) -> bool: ...

    def when_gone(self, call: Callable[[], None]) -> None: ...

    async def goto(self, url: str, timeout_ms: float) -> Loaded: ...

    async def evaluate(self, expression: str, timeout_ms: float) -> JsonValue: ...

    async def fill(self, selector: str, value: str, timeout_ms: float) -> None: ...

    async def click(self, selector: str, timeout_ms: float) -> None: ...

    async def screenshot(self, path: Path, timeout_ms: float, *, full: bool) -> None: ...

    async def close(self) -> None: ...


@runtime_checkable
class OpensOwnerPages(Protocol):
    """A browser, or the driver of one, that can open such pages."""

    async def owner_page(self) -> OwnerPage: ...


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """One owner's page, or the promise of it. `gone`: it is no longer the owner's. `pictures`: its screenshots."""

    owner: str
    pictures: Path
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    opening: "asyncio.Task[OwnerPage] | None" = None
    _taken: int = 0

    @property
    def page(self) -> OwnerPage | None:
        """The page, if it is there."""
        opening = self.opening
        if self.gone.is_set() or opening is None or not opening.done() or opening.cancelled():
            return None
        return None if opening.exception() is not None else opening.result()

    def next_picture(self, kept: int) -> Path:
        """Where the next screenshot goes; so many are kept at most, the latest."""
        self.pictures.mkdir(mode=0o700, exist_ok=True)
        for oldest in sorted(self.pictures.iterdir())[: 1 - kept or None]:
            oldest.unlink()
        self._taken += 1
        return self.pictures / f"screenshot-{self._taken:06}.png"


class OwnerPages:
    """The registry at work over one browser. Made by `opened_pages`. `most`: places that were taken at one time."""

    def __init__(self, make: MakeRuntime, folder: Path, admit: Admit) -> None:
        self._slot = Slot(make)
        self._owners: Owners[Entry] = Owners(admit)
        self._folder = folder
        self._numbers = itertools.count(1)
        self.most = 0
        self._on = False
        self._tasks: set[asyncio.Task[Any]] = set()

    # ---- the gate, and the context's life ----

    @property
    def on(self) -> bool:
        """Whether browser access is on."""
        return self._on

    def turn_on(self) -> None:
        """Let owners open pages; nothing is started."""
        self._on = True

    async def turn_off(self) -> None:
        """Take the access away, then end all pages and the context. Also how a new conversation begins.

        Raises:
            CleanupRequired: the browser could not be ended; call it again.
        """
        self._on = False
        entries = [entry for owner in self._owners.owners() for entry in self._drop(owner)]
        try:
            await self._slot.dispose()  # it takes the pages with it
        finally:
            await self._closed(entries)

    async def restore(self, *, on: bool) -> None:
        """A restored branch of the conversation says whether access is on; where it is, pages and context stay.

        Raises:
            CleanupRequired: as `turn_off`.
        """
        if on:
            self.turn_on()
        else:
            await self.turn_off()

    # ---- pages ----

    def owners(self) -> tuple[str, ...]:
        """Those who have a page, or have one coming."""
        return self._owners.owners()

    def page(self, owner: str) -> OwnerPage | None:
        """The owner's page, if it is there."""
        entry = self._owners.tabs(owner).get(PAGE)
        return None if entry is None else entry.page

    async def open(self, owner: str) -> Entry:
        """The owner's entry with its page, which is opened where there is none; all who ask meanwhile share it.

        Raises:
            GateOff: access is off.
            TabLimit: the cap on pages is reached.
            PageReaped, ContextClosed: it was ended while it opened.
            TargetError, DriverError, CleanupRequired: there is no browser, and none can be started.
        """
        if not self._on:
            raise GateOff("browser access is off")
        entry = self._owners.tabs(owner).get(PAGE) or self._promise(owner)
        assert entry.opening is not None, "a promise is made with its task"
        if entry.page is None:
            gone = asyncio.ensure_future(entry.gone.wait())
            try:
                await asyncio.wait({entry.opening, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
        if entry.gone.is_set():
            raise self._why_gone()
        entry.opening.result()
        return entry

    async def reap(self, owner: str, within_s: float = CLOSE_S) -> bool:
        """End the owner's page, also one that opens, whatever the owner was allowed; False: it had none.

        Its place is free at once; the page's end is waited for `within_s` seconds.
        """
        entries = self._drop(owner)
        await self._closed(entries, within_s)
        return bool(entries)

    def _promise(self, owner: str) -> Entry:
        self._owners.admit(owner)
        entry = Entry(owner=owner, pictures=self._folder / f"page-{next(self._numbers)}")
        self._owners.add(owner, PAGE, entry)
        self.most = max(self.most, len(self._owners.owners()))
        entry.opening = self._start(self._opened(entry))
        return entry

    async def _opened(self, entry: Entry) -> OwnerPage:
        def guard() -> None:
            if entry.gone.is_set():
                raise self._why_gone()

        try:
            runtime = await self._slot.started(BROWSER, guard)
            if not isinstance(runtime, OpensOwnerPages):
                raise DriverError("This browser has no pages for owners.")
            page = await runtime.owner_page()
        except BaseException:
            self._owners.discard(entry.owner, entry)
            raise
        if entry.gone.is_set():
            await page.close()
            guard()
        page.when_gone(lambda: self._lost(entry))
        return page

    def _lost(self, entry: Entry) -> None:
        """The page is gone, by whomever."""
        self._owners.discard(entry.owner, entry)
        entry.gone.set()
        self._start(self._close(entry))

    def _drop(self, owner: str) -> tuple[Entry, ...]:
        entries = self._owners.drop(owner)
        for entry in entries:
            entry.gone.set()
        return entries

    async def _closed(self, entries: Iterable[Entry], within_s: float = CLOSE_S) -> None:
        """Close them; what takes longer goes on by itself, also where the caller is cancelled."""
        if closing := [self._start(self._close(entry)) for entry in entries]:
            await asyncio.wait(closing, timeout=within_s)

    async def _close(self, entry: Entry) -> None:
        assert entry.opening is not None
        with suppress(AxtrialError, ObservationError):  # then there is no page
            await (await entry.opening).close()
        await asyncio.to_thread(shutil.rmtree, entry.pictures, ignore_errors=True)

    def _why_gone(self) -> OwnerError:
        if self._on:
            return PageReaped("the page was ended while it opened")
        return ContextClosed("the browser was closed while the page opened")

    # ---- tasks ----

    def _start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for it gets it; nobody may be left to wait

    async def close(self) -> None:
        """Turn off for good, and wait for all that still ends.

        Raises:
            CleanupRequired: the browser could not be ended; the next start's sweep ends it.
        """
        try:
            await self.turn_off()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    while self._tasks:
                        await asyncio.wait(set(self._tasks))


@asynccontextmanager
async def opened_pages(make: MakeRuntime, admit: Admit = parent_and_children) -> AsyncIterator[OwnerPages]:
    """A registry over the browser that `make` makes, access off at first; at the end everything is closed.

    Raises:
        SetupError: there is no room for screenshots.
        CleanupRequired: as `close`.
    """
    async with private_folder() as folder:
        pages = OwnerPages(make, folder, admit)
        try:
            yield pages
        finally:
            await finish(pages.close())
