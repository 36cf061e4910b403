"""The driver `current` attaches to one browser after another, whatever became of the one before."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from harness.config import load_settings
from harness.drivers import current
from harness.targets.local import local

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("turns", [1, 10, 40])
async def test_an_attach_that_was_cancelled_harms_no_other_browser(turns: int) -> None:
    async with current.start() as host:
        async with local(load_settings()) as first, AsyncExitStack() as stack:
            attaching = asyncio.create_task(stack.enter_async_context(host.attach(first)))
            for _ in range(turns):
                await asyncio.sleep(0)
            attaching.cancel()
            await asyncio.wait({attaching})
        async with local(load_settings()) as second, host.attach(second) as driver:
            page = await driver.first_page()
            other = await driver.new_page()
            assert await page.document_nonce() != await other.document_nonce()
