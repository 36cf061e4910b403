"""A renderer that is killed while it has a click: the tab is gone, and the click may have been carried out."""

import asyncio
import os
import signal

import psutil
import pytest

from harness.config import load_settings
from harness.drivers import current
from harness.host.tab import Tab
from harness.targets.local import local
from observe.errors import PageGone

pytestmark = pytest.mark.browser

BUSY = "data:text/html,<button onmousedown=\"console.log('in'); for (;;);\">b</button>"


def renderers(browser: int) -> list[int]:
    """The process ids of a browser's renderers."""
    below = psutil.Process(browser).children(recursive=True)
    return [process.pid for process in below if "--type=renderer" in process.cmdline()]


async def test_a_renderer_killed_in_the_middle_of_a_click() -> None:
    async with local(load_settings()) as endpoint, current.start() as host, host.attach(endpoint) as driver:
        page = await driver.first_page()
        await page.navigate(BUSY)
        tab = Tab(page)
        target = await tab.target((await tab.observe("ax")).refs[0].ref)
        busy = asyncio.Event()
        page._cdp.on("Runtime.consoleAPICalled", lambda _params, _session: busy.set())
        click = asyncio.create_task(page.click(target))
        await busy.wait()
        for pid in renderers(endpoint.pid):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(PageGone) as caught:
            await click
    assert (caught.value.message, caught.value.input_sent) == ("The page crashed.", True)
