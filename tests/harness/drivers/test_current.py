"""The driver `current` attaches to one browser after another, whatever became of the one before."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from playwright.async_api import Page
from websockets.protocol import State

from harness.config import load_settings
from harness.drivers import current
from harness.drivers.cdp import CdpConnection
from harness.drivers.current import CurrentDriver
from harness.errors import DriverError
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


class FailsToListen:
    """Makes the first attempts to listen to a new page fail, once their connection is made; counts all of them."""

    def __init__(self, driver: CurrentDriver, failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.attempts = 0
        self._made: list[CdpConnection] = []
        self._failures = failures
        self._listened = driver._listened
        monkeypatch.setattr(driver, "_listened", self._attempt)

    async def _attempt(self, page: Page, stack: AsyncExitStack) -> tuple[str, CdpConnection]:
        self.attempts += 1
        target_id, cdp = await self._listened(page, stack)
        self._made.append(cdp)
        if self.attempts <= self._failures:
            raise DriverError(f"attempt {self.attempts}")
        return target_id, cdp

    def states(self) -> list[State]:
        """Of the connections that were made."""
        return [each._socket.state for each in self._made]


async def tabs(driver: CurrentDriver) -> set[str]:
    found = await driver._cdp.send("Target.getTargets", {"filter": [{"type": "page"}]})
    return {each["targetId"] for each in found["targetInfos"]}


async def test_an_owners_page_is_opened_once_more(
    current_driver: CurrentDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await tabs(current_driver)
    failing = FailsToListen(current_driver, 1, monkeypatch)
    page = await current_driver.owner_page()
    assert await page.evaluate("1 + 1", 5_000) == 2
    assert (len(await tabs(current_driver) - before), failing.attempts) == (1, 2)
    await page.close()
    assert (await tabs(current_driver), failing.states()) == (before, [State.CLOSED, State.CLOSED])


async def test_an_owners_page_is_not_opened_a_third_time(
    current_driver: CurrentDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await tabs(current_driver)
    failing = FailsToListen(current_driver, 2, monkeypatch)
    with pytest.raises(DriverError) as caught:
        await current_driver.owner_page()
    assert (caught.value.message, failing.attempts) == ("attempt 2", 2)
    assert (await tabs(current_driver), failing.states()) == (before, [State.CLOSED, State.CLOSED])
