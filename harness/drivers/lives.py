"""What belongs to a page ends with its tab, not only with the driver: processes, folders, connections, contexts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from harness.drivers.real_page import RealPage


class Lives:
    """Of a driver's pages. Made by `lives` only."""

    def __init__(self) -> None:
        self._pages: dict[asyncio.Task[None], RealPage] = {}

    def tie(self, page: RealPage, stack: AsyncExitStack) -> None:
        """Close `stack` when the page's tab is lost, or with the driver; then `page.ended` is set."""
        owned = stack.pop_all()
        task = asyncio.create_task(_end(page, owned))
        self._pages[task] = page
        task.add_done_callback(self._pages.pop)

    async def end(self) -> None:
        """End what belongs to the pages that still live."""
        tasks = tuple(self._pages)
        for page in tuple(self._pages.values()):
            await page.leave()
        await asyncio.gather(*tasks)


async def _end(page: RealPage, stack: AsyncExitStack) -> None:
    try:
        await page.lost.wait()
        await stack.aclose()
    finally:
        page.ended.set()


@asynccontextmanager
async def lives() -> AsyncIterator[Lives]:
    """The lives of a driver's pages, which all end with the block."""
    kept = Lives()
    try:
        yield kept
    finally:
        await kept.end()
