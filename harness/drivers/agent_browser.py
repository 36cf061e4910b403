"""Driver `agent-browser`: the optional, pinned native driver of ADR-0124, one owned child for each tab.

The children of one browser share one queue. The browser itself belongs to its target.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from harness.config import Settings
from harness.drivers.agent_calls import Bounds, Queue
from harness.drivers.agent_child import native_child
from harness.drivers.agent_page import AgentPage
from harness.drivers.cdp import CdpClosed, CdpError, CdpTimeout, Json, open_cdp
from harness.drivers.native_pin import NativeBinary, find_native
from harness.errors import DriverError
from harness.targets.base import Endpoint

VIEWPORT: Json = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}


class AgentDriver:
    """Attached to one browser."""

    def __init__(self, binary: NativeBinary, endpoint: Endpoint, queue: Queue, stack: AsyncExitStack) -> None:
        self._binary = binary
        self._endpoint = endpoint
        self._browser = queue.browser
        self._stack = stack
        self._queue = queue
        self._opening = asyncio.Lock()

    async def first_page(self) -> AgentPage:
        """The tab that the browser started with.

        Raises:
            DriverError: there is none, or a step of the child's start deviates.
        """
        if tabs := await self._tabs():
            async with self._opening:
                return await self._adopt(next(iter(tabs)))
        return await self.new_page()

    async def new_page(self, context: str | None = None) -> AgentPage:
        """A new tab, in the browser's own profile or in the browser context of that id.

        Raises:
            DriverError: it cannot be opened, or a step of the child's start deviates.
        """
        given = {} if context is None else {"browserContextId": context}
        async with self._opening:
            made = await self._send("Target.createTarget", {"url": "about:blank", **given})
            return await self._adopt(made["targetId"])

    async def fresh_page(self) -> AgentPage:
        """A new tab in a context of its own, without cookies or storage of any other.

        Raises:
            DriverError: as new_page.
        """
        made = await self._send("Target.createBrowserContext", {"disposeOnDetach": True})
        return await self.new_page(made["browserContextId"])

    def diagnostics(self) -> tuple[str, ...]:
        """How each native command ended, oldest first; may quote page text, so it stays in the trial's folder."""
        return tuple(self._queue.diagnostics)

    async def _adopt(self, target_id: str) -> AgentPage:
        """Attach a child to the tab. Any deviation ends the whole driver: its children, their folders, and Chrome."""
        try:
            async with AsyncExitStack() as stack:
                page = await self._start(target_id, stack)
                self._stack.push_async_exit(stack.pop_all())
                return page
        except DriverError:
            await self._queue.abort()
            raise

    async def _start(self, target_id: str, stack: AsyncExitStack) -> AgentPage:
        before = await self._tabs()
        child = await stack.enter_async_context(native_child(self._binary, self._endpoint, target_id, self._queue))
        if any(opener is None for tab, opener in (await self._tabs()).items() if tab not in before):
            raise DriverError("the native driver opened a tab")  # one with an opener is a page's doing
        try:
            address = self._endpoint.browser_ws.partition("/devtools/")[0] + f"/devtools/page/{target_id}"
            cdp = await stack.enter_async_context(open_cdp(address))
        except CdpClosed as error:
            raise DriverError("The tab could not be attached to.") from error
        page = AgentPage(child, cdp, self._browser, target_id)
        stack.push_async_callback(page.stop)
        await page.start(VIEWPORT)
        return page

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
            except CdpClosed as error:
                raise DriverError("Chrome does not answer on its debugging port.") from error
            queue = Queue(browser=browser, chrome_pid=endpoint.pid, bounds=self._bounds)
            yield AgentDriver(self._binary, endpoint, queue, stack)


@asynccontextmanager
async def start(settings: Settings) -> AsyncIterator[AgentHost]:
    """The native driver, if it is there and is the pinned one.

    Raises:
        DriverError: it is missing, or its version or digest is not the pinned one; the sentence has both.
    """
    yield AgentHost(find_native(settings))
