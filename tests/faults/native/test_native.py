"""The native child and its Chromium under faults: each ends as one refusal, with no process and no folder left."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from harness.config import Settings
from harness.drivers.agent_browser import AgentHost
from harness.drivers.agent_calls import NativeFault
from harness.drivers.agent_child import native_child
from harness.drivers.agent_queue import Bounds, Queue
from harness.drivers.cdp import CdpClosed, CdpConnection, open_cdp
from harness.drivers.native_pin import NativeBinary
from harness.drivers.other_tabs import OtherTabs
from harness.errors import DriverError
from harness.host.tab import Tab
from harness.targets.local import local
from observe.errors import DriverGone, PageGone, TimedOut

if TYPE_CHECKING:
    from tests.faults.native.conftest import Native, StartNative

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process's end by a Linux call"),
]

SHORT = Bounds(command_s=4.0, snapshot_s=4.0)
NO_REPLY = "The browser driver did not answer within 4 s; the browser was ended. Input may already have been sent."

COUNTER = (
    "data:text/html,<title>0</title><button onclick='document.title = ++window.n' >Add</button><script>n = 0</script>"
)


# ---- processes that end or hang ----


async def next_read(_native: "Native", tab: Tab) -> None:
    await tab.observe("ax")


async def next_click(native: "Native", tab: Tab) -> None:
    await native.click(tab)


async def next_press(_native: "Native", tab: Tab) -> None:
    await tab.page.press_key("a")


Call = Callable[["Native", Tab], Awaitable[None]]


@pytest.mark.parametrize("call", [next_read, next_click, next_press])
async def test_chrome_killed(native_binary: NativeBinary, start_native: "StartNative", call: Call) -> None:
    async with start_native(native_binary) as native:
        tab = await native.show(await native.driver.first_page(), COUNTER)
        child, chrome = native.child(), native.endpoint.pid
        os.kill(chrome, signal.SIGKILL)
        with pytest.raises(DriverGone):
            await call(native, tab)
        assert await native.gone(child, chrome)


async def test_a_press_that_fails_as_chrome_is_killed(
    native_binary: NativeBinary, start_native: "StartNative", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child may answer with a fault before its own connection and ours to Chrome have broken."""
    async with start_native(native_binary) as native:
        page = await native.driver.first_page()
        await native.show(page, COUNTER)
        child = native.child()

        async def press(_key: str) -> None:
            os.kill(native.endpoint.pid, signal.SIGKILL)
            raise NativeFault("press", None, "Broken pipe")

        monkeypatch.setattr(page._native, "press", press)
        with pytest.raises(DriverGone) as caught:
            await page.press_key("a")
        assert (caught.value.message, caught.value.input_sent) == ("The browser ended.", True)
        assert await native.gone(child, native.endpoint.pid)


async def test_what_is_gone_while_the_driver_is_ended(
    native_binary: NativeBinary, start_native: "StartNative", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the browser is the one that is gone, though it still answers and only the tab's connection has broken."""
    async with start_native(native_binary) as native:
        page = await native.driver.first_page()
        await native.show(page, COUNTER)

        async def press(_key: str) -> None:
            native.driver._queue.dead = True
            raise CdpClosed("Input.dispatchKeyEvent")

        monkeypatch.setattr(page._native, "press", press)
        with pytest.raises(DriverGone) as caught:
            await page.press_key("a")
        assert (caught.value.message, caught.value.input_sent) == ("The browser ended.", True)
        assert not native.driver._browser.closed.is_set()


async def test_child_killed(native_binary: NativeBinary, start_native: "StartNative") -> None:
    async with start_native(native_binary) as native:
        tab = await native.show(await native.driver.first_page(), COUNTER)
        child, chrome = native.child(), native.endpoint.pid
        os.kill(child, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(DriverGone):
                await native.click(tab)
        assert await native.gone(child, chrome)
        assert [process.pid for process in native.driver._queue.children] == [child]


async def test_child_hung(native_binary: NativeBinary, start_native: "StartNative") -> None:
    async with start_native(native_binary, SHORT) as native:
        tab = await native.show(await native.driver.first_page(), COUNTER)
        child, chrome = native.child(), native.endpoint.pid
        await native.stop(child)
        with pytest.raises(TimedOut) as caught:
            await native.click(tab)
        assert (caught.value.message, caught.value.input_sent) == (NO_REPLY, True)
        assert await native.gone(child, chrome)
        with pytest.raises(DriverGone):
            await native.click(tab)
        assert [line.split()[0] for line in native.driver.diagnostics()][-2:] == ["snapshot", "mousemove"]


async def test_cancelled_in_the_middle_of_a_command(native_binary: NativeBinary, start_native: "StartNative") -> None:
    async with start_native(native_binary) as native:
        page = await native.driver.first_page()
        await native.show(page, COUNTER)
        child, chrome = native.child(), native.endpoint.pid
        await native.stop(child)
        sent = asyncio.Event()
        page.guard = sent.set
        pressing = asyncio.create_task(page.press_key("a"))
        await sent.wait()
        pressing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pressing
        assert await native.gone(child, chrome)


async def pages(browser: CdpConnection) -> list[tuple[str, str]]:
    """Id and address of each tab."""
    found = await browser.send("Target.getTargets", {"filter": [{"type": "page"}]})
    return sorted((each["targetId"], each["url"]) for each in found["targetInfos"])


async def test_another_chrome_on_the_same_port(native_binary: NativeBinary, start_native: "StartNative") -> None:
    async with start_native(native_binary) as native:
        tab = await native.show(await native.driver.first_page(), COUNTER)
        port = int(native.endpoint.http.rpartition(":")[2])
        os.kill(native.endpoint.pid, signal.SIGKILL)
        assert await native.gone(native.endpoint.pid)
        async with local(Settings(cdp_port=port)) as other, open_cdp(other.browser_ws) as browser:
            before = await pages(browser)
            with pytest.raises(DriverGone):
                await native.click(tab)
            with pytest.raises(DriverError):
                async with AgentHost(native_binary).attach(native.endpoint):
                    pass
            queue = Queue(browser=browser, others=OtherTabs(browser), chrome_pid=other.pid)
            with pytest.raises(DriverError) as caught:
                async with native_child(native_binary, native.endpoint, before[0][0], queue):
                    pass
            assert caught.value.message == "the native driver refused the step launch of its start"
            assert await pages(browser) == before


# ---- other tabs ----


async def test_the_neighbour_of_a_closed_tab_is_never_used(
    native_binary: NativeBinary, start_native: "StartNative"
) -> None:
    async with start_native(native_binary) as native:
        first = await native.show(await native.driver.first_page(), COUNTER)
        second = await native.show(await native.driver.new_page(), COUNTER)
        await first.page.close()
        for call in (next_read, next_click, next_press):
            with pytest.raises(PageGone):
                await call(native, first)
        await native.titled((second.page.target_id, "0"))
        await native.click(second)
        await native.titled((second.page.target_id, "1"))


async def test_a_foreign_tab_changes_nothing(native_binary: NativeBinary, start_native: "StartNative") -> None:
    async with start_native(native_binary) as native:
        page = await native.driver.first_page()
        tab = await native.show(page, COUNTER)
        foreign = (await native.driver._browser.send("Target.createTarget", {"url": COUNTER}))["targetId"]
        await native.titled((page.target_id, "0"), (foreign, "0"))
        drawn = {"expression": "new Promise(requestAnimationFrame)", "awaitPromise": True}
        await page._cdp.send("Runtime.evaluate", drawn)  # without frames of our tab, now behind, a click waits for 5 s
        await native.click(tab)
        await native.titled((page.target_id, "1"), (foreign, "0"))
        assert (await tab.observe("ax")).title == "1"
        await native.click(tab)
        await native.titled((page.target_id, "2"), (foreign, "0"))
