"""Driver `current`: Playwright for input, navigation, uploads and screenshots; a direct CDP websocket for the reads.

One Playwright program serves a whole run and attaches to one browser after another.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import version

from playwright.async_api import Browser, BrowserContext, Page, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from harness.config import Settings
from harness.drivers.cdp import CdpClosed, CdpConnection, open_cdp
from harness.drivers.current_page import CurrentPage
from harness.drivers.lives import Lives, lives
from harness.drivers.owner_page import OwnerPage
from harness.errors import DriverError, OwnerError
from harness.process import finish
from harness.targets.base import Endpoint

VIEWPORT = {"width": 1280, "height": 720}
ATTACH_TIMEOUT_MS = 20_000


class CurrentDriver:
    """Attached to one browser. Pages that this driver opened its own websocket to are closed with it."""

    def __init__(self, browser: Browser, cdp: CdpConnection, endpoint: Endpoint, pages: Lives) -> None:
        self._browser = browser
        self._cdp = cdp
        self._endpoint = endpoint
        self._pages = pages
        self._camera = asyncio.Lock()

    @property
    def _context(self) -> BrowserContext:
        return self._browser.contexts[0]

    async def first_page(self) -> CurrentPage:
        """The tab that the browser started with, or a new one if it was closed.

        Raises:
            DriverError: the tab cannot be attached to.
        """
        pages = self._context.pages
        return await self._adopted(pages[0]) if pages else await self.new_page()

    async def new_page(self) -> CurrentPage:
        """A new tab in the browser's own profile.

        Raises:
            DriverError: the tab cannot be opened.
        """
        try:
            page = await self._context.new_page()
        except PlaywrightError as error:
            raise DriverError("Chrome did not open a new tab.") from error
        return await self._adopted(page)

    async def fresh_page(self) -> CurrentPage:
        """A new tab in a context of its own, without cookies or storage of any other.

        Raises:
            DriverError: the tab cannot be opened.
        """
        async with AsyncExitStack() as stack:
            try:
                context = await self._browser.new_context(viewport=None)
                stack.push_async_callback(_close_quietly, context)
                page = await context.new_page()
            except PlaywrightError as error:
                raise DriverError("Chrome did not open a new context.") from error
            return await self._adopt(page, stack)

    async def owner_page(self) -> OwnerPage:
        """A new page in the browser's own context, for an owner who verifies; who asks for it closes it.

        Raises:
            DriverError: it cannot be opened.
        """
        try:
            return await self._owner_page()
        except DriverError:  # the renderer that Chrome keeps ready for the next page may just have died with others
            return await self._owner_page()

    async def _owner_page(self) -> OwnerPage:
        try:
            page = await self._context.new_page()
        except PlaywrightError as error:
            raise DriverError("Chrome did not open a new page.") from error
        async with AsyncExitStack() as stack:
            stack.push_async_callback(_close_page, page)
            _, cdp = await self._listened(page, stack)
            opened = OwnerPage(page, cdp, self._camera, stack.pop_all())
        try:
            await opened.start()
        except OwnerError as error:
            await opened.close()
            raise DriverError("The page could not be listened to.") from error
        return opened

    def diagnostics(self) -> tuple[str, ...]:
        """Nothing: this driver notes nothing."""
        return ()

    async def _adopted(self, page: Page) -> CurrentPage:
        async with AsyncExitStack() as stack:
            return await self._adopt(page, stack)

    async def _adopt(self, page: Page, stack: AsyncExitStack) -> CurrentPage:
        target_id, cdp = await self._listened(page, stack)
        opened = CurrentPage(page, cdp, self._cdp, target_id)
        stack.push_async_callback(opened.stop)
        await opened.start()
        self._pages.tie(opened, stack)
        return opened

    async def _listened(self, page: Page, stack: AsyncExitStack) -> tuple[str, CdpConnection]:
        """Chrome's id of the tab, and a connection to it that ends with `stack`."""
        try:
            session = await page.context.new_cdp_session(page)
            info = await session.send("Target.getTargetInfo")
            await session.detach()
            target_id = str(info["targetInfo"]["targetId"])
            await page.set_viewport_size(VIEWPORT)  # type: ignore[arg-type]
            address = self._endpoint.browser_ws.partition("/devtools/")[0] + f"/devtools/page/{target_id}"
            return target_id, await stack.enter_async_context(open_cdp(address))
        except (PlaywrightError, CdpClosed) as error:
            raise DriverError("The tab could not be attached to.") from error


class CurrentHost:
    """The started Playwright program."""

    name = "current"

    def __init__(self, playwright: Playwright) -> None:
        self._playwright = playwright
        self.version = f"playwright {version('playwright')}, websockets {version('websockets')}"

    @asynccontextmanager
    async def attach(self, endpoint: Endpoint) -> AsyncIterator[CurrentDriver]:
        """Attached to `endpoint`. The browser itself belongs to its target and stays open.

        Raises:
            DriverError: nothing answers at the endpoint within ATTACH_TIMEOUT_MS.
        """
        try:
            browser = await _connected(self._playwright, endpoint)
        except PlaywrightError as error:
            raise DriverError("Chrome does not answer on its debugging port.") from error
        try:
            async with AsyncExitStack() as stack:
                cdp = await _whole_browser(stack, endpoint)
                yield CurrentDriver(browser, cdp, endpoint, await stack.enter_async_context(lives()))
        finally:
            await asyncio.shield(_disconnect(browser))


async def _connected(playwright: Playwright, endpoint: Endpoint) -> Browser:
    """The browser. A connection that is being made is made to its end, also where the caller is cancelled: Playwright
    is left with a half-made browser otherwise, whose end later fails a call of any other browser's.
    """
    connecting = asyncio.ensure_future(
        playwright.chromium.connect_over_cdp(endpoint.browser_ws, timeout=ATTACH_TIMEOUT_MS)
    )
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        await finish(_disconnect_when_made(connecting))
        raise


async def _disconnect_when_made(connecting: "asyncio.Future[Browser]") -> None:
    with suppress(PlaywrightError):
        await _disconnect(await connecting)


async def _whole_browser(stack: AsyncExitStack, endpoint: Endpoint) -> CdpConnection:
    try:
        return await stack.enter_async_context(open_cdp(endpoint.browser_ws))
    except CdpClosed as error:
        raise DriverError("Chrome does not answer on its debugging port.") from error


async def _close_quietly(context: BrowserContext) -> None:
    with suppress(PlaywrightError):  # the browser may be gone, and the context with it
        await context.close()


async def _close_page(page: Page) -> None:
    with suppress(PlaywrightError):  # it may be closed already
        await page.close()


async def _disconnect(browser: Browser) -> None:
    with suppress(PlaywrightError):  # it may be disconnected already
        await browser.close()


@asynccontextmanager
async def start(_settings: Settings | None = None) -> AsyncIterator[CurrentHost]:
    """The Playwright program, for as long as the block runs."""
    async with async_playwright() as playwright:
        yield CurrentHost(playwright)
