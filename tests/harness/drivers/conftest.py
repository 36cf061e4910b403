"""A fresh tab of each real driver in turn, and a way to run a script in the page's own world."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from harness.drivers.agent_browser import AgentHost
from harness.drivers.base import DriverPage, RefTarget
from harness.drivers.current_page import CurrentPage
from harness.drivers.native_pin import NativeBinary
from harness.host.tab import Tab
from harness.targets.base import Endpoint

Evaluate = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A fresh tab, and a way to run a script in the page's own world."""

    page: DriverPage
    evaluate: Evaluate

    async def mutate(self, script: str) -> None:
        """Run a case's script, and wait as long as the cases say."""
        await self.evaluate(script)
        await asyncio.sleep(0.3)

    async def load(self, address: str, name: str) -> None:
        """Show a case's page."""
        await self.page.navigate(f"{address}/{name}.html")
        await asyncio.sleep(0.1)

    async def show(self, html: str) -> None:
        """Show a document of that source."""
        source = base64.b64encode(f"<!doctype html><meta charset=utf-8>{html}".encode()).decode()
        await self.page.navigate(f"data:text/html;base64,{source}")

    async def target(self, name: str) -> RefTarget:
        """Observe the page; the only element of that name."""
        tab = Tab(self.page)
        (ref,) = [ref for ref in (await tab.observe("ax")).refs if ref.name == name]
        return await tab.target(ref.ref)


@pytest_asyncio.fixture(loop_scope="session")
async def current_opened(page: CurrentPage) -> Opened:
    return Opened(page, page._page.evaluate)


@pytest_asyncio.fixture(loop_scope="session")
async def native_opened(native_binary: NativeBinary, native_endpoint: Endpoint) -> AsyncIterator[Opened]:
    async with AgentHost(native_binary).attach(native_endpoint) as driver:
        tab = await driver.fresh_page()

        async def evaluate(script: str) -> object:
            given = {"expression": script, "awaitPromise": True, "returnByValue": True}
            return (await tab._cdp.send("Runtime.evaluate", given))["result"].get("value")

        yield Opened(tab, evaluate)
        await tab.leave()


@pytest.fixture(params=["current", "agent-browser"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """A fresh tab of each real driver."""
    found: Opened = request.getfixturevalue("current_opened" if request.param == "current" else "native_opened")
    return found
