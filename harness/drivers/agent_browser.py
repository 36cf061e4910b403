"""Driver `agent-browser`: the optional, pinned native driver of ADR-0124, one owned child for each tab.

The children of one browser share one queue. The browser itself belongs to its target.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from harness.config import Settings
from harness.drivers.agent_calls import HeldUp, NativeChild
from harness.drivers.agent_child import native_child
from harness.drivers.agent_page import AgentPage
from harness.drivers.agent_queue import Bounds, Queue
from harness.drivers.cdp import CdpClosed, CdpError, CdpTimeout, Json, open_cdp
from harness.drivers.lives import Lives, lives
from harness.drivers.native_pin import NativeBinary, find_native
from harness.drivers.other_tabs import other_tabs
from harness.errors import DriverError
from harness.targets.base import Endpoint

_STARTS = 3
"""A child that opens a tab does so at each start; a person, who opens one meanwhile, does not."""

VIEWPORT: Json = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}


class AgentDriver:
    """Attached to one browser."""

    def __init__(self, binary: NativeBinary, endpoint: Endpoint, queue: Queue, pages: Lives) -> None:
        self._binary = binary
        self._endpoint = endpoint
        self._browser = queue.browser
        self._pages = pages
        self._queue = queue
        self._opening = asyncio.Lock()

    async def first_page(self) -> AgentPage:
        """The tab that the browser started with.

        Raises:
            DriverError: there is none, or a step of the child's start deviates.
        """
        if tabs := await self._tabs():
            async with self._opening, AsyncExitStack() as stack:
                return await self._adopt(next(iter(tabs)), stack)
        return await self.new_page()

    async def new_page(self) -> AgentPage:
        """A new tab in the browser's own profile.

        Raises:
            DriverError: it cannot be opened, or a step of the child's start deviates.
        """
        async with self._opening, AsyncExitStack() as stack:
            return await self._open(stack)

    async def fresh_page(self) -> AgentPage:
        """A new tab in a context of its own, without cookies or storage of any other.

        Raises:
            DriverError: as new_page.
        """
        async with self._opening, AsyncExitStack() as stack:
            made = await self._send("Target.createBrowserContext", {"disposeOnDetach": True})
            stack.push_async_callback(self._dispose, made)
            return await self._open(stack, made)

    async def _open(self, stack: AsyncExitStack, context: Json | None = None) -> AgentPage:
        made = await self._send("Target.createTarget", {"url": "about:blank", **(context or {})})
        try:
            return await self._adopt(made["targetId"], stack)
        except DriverError:
            with suppress(CdpClosed, CdpError, CdpTimeout):
                await self._browser.send("Target.closeTarget", made)
            raise

    async def _dispose(self, context: Json) -> None:
        with suppress(CdpClosed, CdpError, CdpTimeout):  # the browser may be gone, and the context with it
            await self._browser.send("Target.disposeBrowserContext", context)

    def diagnostics(self) -> tuple[str, ...]:
        """How each native command ended, oldest first; may quote page text, so it stays in the trial's folder."""
        return tuple(self._queue.diagnostics)

    async def _adopt(self, target_id: str, stack: AsyncExitStack) -> AgentPage:
        """Attach a child to the tab. Any deviation ends the whole driver: its children, their folders, and Chrome."""
        await self._queue.others.own(target_id)
        try:
            page = await self._attach(target_id, stack)
        except HeldUp as held:
            raise DriverError(f"the native driver did not start: {held}") from held
        except DriverError:
            await self._queue.abort()
            raise
        self._pages.tie(page, stack)
        return page

    async def _attach(self, target_id: str, stack: AsyncExitStack) -> AgentPage:
        child = await self._start_child(target_id, stack)
        try:
            address = self._endpoint.browser_ws.partition("/devtools/")[0] + f"/devtools/page/{target_id}"
            cdp = await stack.enter_async_context(open_cdp(address))
        except CdpClosed as error:
            raise DriverError("The tab could not be attached to.") from error
        page = AgentPage(child, cdp, self._browser, target_id)
        stack.push_async_callback(page.stop)
        await page.start(VIEWPORT)
        return page

    async def _start_child(self, target_id: str, stack: AsyncExitStack) -> NativeChild:
        """
        Raises:
            DriverError: the child opened a tab, or somebody else one at each of several starts.
        """
        for _ in range(_STARTS):
            before = await self._tabs()
            async with AsyncExitStack() as started:
                child = await started.enter_async_context(
                    native_child(self._binary, self._endpoint, target_id, self._queue)
                )
                new = [opener for tab, opener in (await self._tabs()).items() if tab not in before]
                if None not in new:  # one with an opener is a page's doing
                    stack.push_async_exit(started.pop_all())
                    return child
        raise DriverError("the native driver opened a tab")

    async def _tabs(self) -> dict[str, str | None]:
        """The tabs there are, each with the one whose page opened it."""
        found = await self._send("Target.getTargets", {"filter": [{"type": "page"}]})
        return {each["targetId"]: each.get("openerId") for each in found["targetInfos"]}

    async def _send(self, method: str, params: Json) -> Json:
        try:
            return await self._browser.send(method, params)
        except (CdpClosed, CdpError, CdpTimeout) as error:
            raise DriverError("Chrome does not answer on its debugging port.") from error


class AgentHost:
    """The checked binary. Nothing runs between two browsers."""

    name = "agent-browser"

    def __init__(self, binary: NativeBinary, bounds: Bounds | None = None) -> None:
        self._binary = binary
        self._bounds = bounds or Bounds()
        self.version = f"{binary.version}, {binary.platform}, sha256 {binary.sha256}"

    @asynccontextmanager
    async def attach(self, endpoint: Endpoint) -> AsyncIterator[AgentDriver]:
        """Attached to `endpoint`; every child is ended and its folder removed at the end.

        Raises:
            DriverError: nothing answers at the endpoint.
        """
        async with AsyncExitStack() as stack:
            try:
                browser = await stack.enter_async_context(open_cdp(endpoint.browser_ws))
                others = await stack.enter_async_context(other_tabs(browser))
            except (CdpClosed, CdpError, CdpTimeout) as error:
                raise DriverError("Chrome does not answer on its debugging port.") from error
            queue = Queue(browser=browser, others=others, chrome_pid=endpoint.pid, bounds=self._bounds)
            yield AgentDriver(self._binary, endpoint, queue, await stack.enter_async_context(lives()))


@asynccontextmanager
async def start(settings: Settings) -> AsyncIterator[AgentHost]:
    """The native driver, if it is there and is the pinned one.

    Raises:
        DriverError: it is missing, or its version or digest is not the pinned one; the sentence has both.
    """
    yield AgentHost(find_native(settings))
