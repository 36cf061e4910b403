"""The provider's surroundings in memory: browsers of the driver `fake`, a record, and the fewest tools.

Any step of a browser can be held until it is released, and starting or ending one can be made to fail. `log` tells what
really happened, in its order.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from harness.drivers.base import RefTarget
from harness.drivers.fake import DEMO_URL, demo
from harness.drivers.fake_page import FakePage, SiteMap
from harness.errors import DriverError
from harness.host.audit import AuditEntry, AuditError
from harness.host.calls import BadCall
from harness.host.runtime import DisposalFailed
from harness.host.scope import RuntimeKey
from harness.host.tabs import BotTabs
from observe.errors import DriverGone
from observe.model import AxText, DomObservation, Stamp
from observe.page import Filled


@dataclass(slots=True, kw_only=True)
class _Hold:
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)


class FakeBrowsers:
    """All fake browsers of one provider: makes them, and steps in between.

    Steps are `start`, `new_page`, `dispose`, and those of a page's methods that HeldPage names.
    """

    def __init__(self, site: SiteMap | None = None) -> None:
        self.site = {DEMO_URL: demo} if site is None else site
        self.log: list[tuple[str, RuntimeKey]] = []
        self.runtimes: list[FakeRuntime] = []
        self.failing_starts = 0
        self.failing_disposals = 0
        self.nonces = random.Random(0)
        self._holds: dict[str, _Hold] = {}

    @property
    def held(self) -> tuple[str, ...]:
        """The steps that are held now."""
        return tuple(self._holds)

    def note(self, what: str, runtime: "FakeRuntime") -> None:
        """Something takes effect."""
        self.log.append((what, runtime.key))

    def make(self, key: RuntimeKey) -> "FakeRuntime":
        """A browser that is not started yet."""
        runtime = FakeRuntime(self, key)
        self.runtimes.append(runtime)
        return runtime

    def hold(self, step: str) -> None:
        """Hold the step, whoever takes it, until it is released."""
        self._holds[step] = _Hold()

    async def reached(self, step: str) -> None:
        """Wait until someone has come to the held step."""
        await self._holds[step].reached.wait()

    def release(self, step: str) -> None:
        """Let the step go on."""
        self._holds.pop(step).released.set()

    async def passing(self, step: str) -> None:
        """Wait where the step is held."""
        if (held := self._holds.get(step)) is not None:
            held.reached.set()
            await held.released.wait()


class FakeRuntime:
    """One fake browser."""

    def __init__(self, browsers: FakeBrowsers, key: RuntimeKey) -> None:
        self.key = key
        self.pages: list[HeldPage] = []
        self.gone = False
        self.ending = False
        self.disposed = False
        self._browsers = browsers

    async def start(self) -> None:
        """Bring it up.

        Raises:
            DriverError: it is to fail.
        """
        self.note("start")
        await self._browsers.passing("start")
        if self._browsers.failing_starts > 0:
            self._browsers.failing_starts -= 1
            raise DriverError("the fake browser did not start")

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return not self.gone

    async def new_page(self) -> "HeldPage":
        """A new tab.

        Raises:
            DriverGone: the browser has ended.
        """
        await self._browsers.passing("new_page")
        if self.gone:
            raise DriverGone("The browser ended.")
        page = HeldPage(self._browsers, self, f"FAKE{len(self.pages) + 1}")
        self.pages.append(page)
        return page

    async def dispose(self) -> None:
        """End it.

        Raises:
            DisposalFailed: it is to fail.
        """
        self.ending = True
        await self._browsers.passing("dispose")
        if self._browsers.failing_disposals > 0:
            self._browsers.failing_disposals -= 1
            raise DisposalFailed("the fake browser does not end")
        self.die()
        self.disposed = True
        self.note("disposed")

    def die(self) -> None:
        """It ends by itself."""
        self.gone = True
        for page in self.pages:
            page.end()

    def note(self, what: str) -> None:
        """Something takes effect in it."""
        self._browsers.note(what, self)


class HeldPage(FakePage):
    """A tab whose steps can be held before they take effect; what reaches the page is noted."""

    def __init__(self, browsers: FakeBrowsers, runtime: FakeRuntime, target_id: str) -> None:
        super().__init__(browsers.site, target_id, browsers.nonces)
        self._passing = browsers.passing
        self._runtime = runtime

    async def read_ax(self, filled: Filled | None = None) -> AxText:
        await self._passing("read_ax")
        self._runtime.note("read_ax")
        return await super().read_ax(filled)

    async def read_dom(self, stamp: Stamp, *, counted: bool = True, before: int = 0) -> DomObservation:
        await self._passing("read_dom")
        self._runtime.note("read_dom")
        return await super().read_dom(stamp, counted=counted, before=before)

    async def screenshot(self) -> bytes:
        await self._passing("screenshot")
        self._runtime.note("screenshot")
        return await super().screenshot()

    async def navigate(self, url: str) -> None:
        await self._passing("navigate")
        self._runtime.note("navigate")
        await super().navigate(url)

    async def click(self, target: RefTarget) -> None:
        await self._passing("click")
        self._runtime.note("click")
        await super().click(target)

    async def type(self, target: RefTarget, text: str) -> str | None:
        await self._passing("type")
        self._runtime.note("type")
        return await super().type(target, text)

    async def press_key(self, key: str) -> None:
        await self._passing("press_key")
        self._runtime.note("press_key")
        await super().press_key(key)

    async def upload(self, target: RefTarget | None, path: Path) -> None:
        self._runtime.note("upload")
        await super().upload(target, path)

    async def close(self) -> None:
        await self._passing("close")
        await super().close()


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeRow:
    """One record; a duration of None: it has only begun."""

    bot: str
    session: str
    tool: str
    summary: str
    outcome: str = "begun"
    duration_ms: float | None = None
    error: str | None = None


class FakeAudit:
    """Records in memory. `full` refuses every further one; `full_at_end` only completing them."""

    def __init__(self) -> None:
        self.rows: list[FakeRow] = []
        self.full = False
        self.full_at_end = False

    def begin(self, entry: AuditEntry) -> int:
        """A new record.

        Raises:
            AuditError: no space is left.
        """
        if self.full:
            raise AuditError("no space is left")
        row = FakeRow(bot=entry.bot, session=entry.session, tool=entry.tool, summary=entry.summary)
        self.rows.append(row)
        return len(self.rows) - 1

    def end(self, number: int, outcome: str, duration_ms: float, error: str | None = None) -> None:
        """Complete a record.

        Raises:
            AuditError: no space is left.
        """
        if self.full or self.full_at_end:
            raise AuditError("no space is left")
        assert self.rows[number].outcome == "begun"
        self.rows[number] = replace(self.rows[number], outcome=outcome, duration_ms=duration_ms, error=error)


class FakeTools:
    """The fewest tools: open, observe, screenshot, click, type, press_key, wait and tabs. Answers are plain values."""

    async def run(self, tabs: BotTabs, tool: str, arguments: Mapping[str, JsonValue]) -> object:
        """Carry one call out; its arguments are taken as they are.

        Raises:
            BadCall: there is no such tool.
        """
        given = {name: str(value) for name, value in arguments.items()}
        match tool:
            case "open":
                async with tabs.opening() as tab:
                    await tab.page.navigate(given["url"])
            case "observe":
                return await tabs.current.observe("ax")
            case "screenshot":
                return await tabs.current.page.screenshot()
            case "click":
                await tabs.current.page.click(await tabs.current.target(given["ref"]))
            case "type":
                return await tabs.current.page.type(await tabs.current.target(given["ref"]), given["text"])
            case "press_key":
                await tabs.current.page.press_key(given["key"])
            case "wait":
                await asyncio.sleep(int(given["ms"]) / 1000)
            case "tabs":
                return await _tabs(tabs, given)
            case _:
                raise BadCall("there is no such tool")
        return None


async def _tabs(tabs: BotTabs, given: Mapping[str, str]) -> object:
    match given["action"]:
        case "list":
            return await tabs.list()
        case "open":
            return (await tabs.open()).page.target_id
        case "select":
            return (await tabs.select(given["target_id"])).page.target_id
        case "close":
            await tabs.close(given["target_id"])
        case _:
            raise BadCall("there is no such action")
    return None
