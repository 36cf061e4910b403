"""What befalls one tab, or a tab that nobody drives, costs the driver `agent-browser` that tab at most."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import psutil
import pytest

from harness.drivers.agent_page import AgentPage
from harness.drivers.agent_queue import Bounds
from harness.drivers.base import Dialog
from harness.drivers.cdp import CdpClosed
from harness.drivers.native_pin import NativeBinary
from harness.host.tab import Tab
from observe.errors import PageGone

if TYPE_CHECKING:
    from tests.faults.native.conftest import Native, StartNative

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SHORT = Bounds(command_s=4.0, snapshot_s=4.0)

COUNTER = "data:text/html,<title>0</title><button onclick='document.title = ++n'>Add</button><script>n = 0</script>"
BUSY = "data:text/html,<title>busy</title><button onmousedown='while (true);'>Stop</button>"
CONFIRM = "data:text/html,<button onclick='document.title = confirm(1)'>Ask</button>"


async def still_works(native: "Native", tab: Tab, title: str) -> None:
    """The tab's button can be clicked, and its page then has this title."""
    await native.click(tab)
    await tab.page.settle()
    assert (await tab.observe("ax")).title == title


# ---- popups, which no page of the driver's stands for ----

OPENS = """data:text/html,<title>0</title><button onclick="
  const popup = window.open('about:blank');
  popup.document.write('<title>popup</title><script>' + %r + '</' + 'script>');
  popup.document.close();
  document.title = ++n">Open</button><script>n = 0</script>"""


@pytest.mark.parametrize(
    ("script", "title"),
    [
        ("alert(1); document.title = 2", "2"),
        ("document.title = confirm(1)", "false"),
        ("setTimeout(() => document.title = String(prompt(1)))", "null"),
    ],
)
async def test_a_dialog_in_a_popup_is_answered(
    script: str, title: str, native_binary: NativeBinary, start_native: "StartNative"
) -> None:
    async with start_native(native_binary) as native:
        tab = await native.show(await native.driver.first_page(), OPENS % script)
        await native.click(tab)
        while (tab.page.target_id, "1") not in (found := await native.tabs()) or title not in dict(found).values():
            await native.evaluate(as_agent(tab), "0")
        assert next(each for each in found if each[0] != tab.page.target_id)[1] == title


def as_agent(tab: Tab) -> AgentPage:
    assert isinstance(tab.page, AgentPage)
    return tab.page


HANGS = "data:text/html,<title>hung</title><script>while (true);</script>"


async def test_a_tab_that_hangs_only_delays(native_binary: NativeBinary, start_native: "StartNative") -> None:
    """The child itself waits 30 s for it; longer than a command may take otherwise."""
    async with start_native(native_binary, SHORT) as native:
        tab = await native.show(await native.driver.first_page(), COUNTER)
        await native.driver._browser.send("Target.createTarget", {"url": HANGS})
        await still_works(native, tab, "1")


async def test_tabs_that_somebody_opens_during_a_start(
    native_binary: NativeBinary, start_native: "StartNative", monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start_native(native_binary) as native:
        tab = await native.show(await native.driver.first_page(), COUNTER)
        browser, tabs = native.driver._browser, native.driver._tabs
        left = [1]

        async def tabs_then_one_more() -> dict[str, str | None]:
            found = await tabs()
            if left and left.pop():
                await browser.send("Target.createTarget", {"url": "about:blank"})
            return found

        monkeypatch.setattr(native.driver, "_tabs", tabs_then_one_more)
        second = await native.show(await native.driver.new_page(), COUNTER)
        await still_works(native, second, "1")
        await still_works(native, tab, "1")
        assert len(native.driver._queue.children) == 2


# ---- the end of a tab ----


async def close(native: "Native", page: AgentPage) -> None:
    await native.driver._browser.send("Target.closeTarget", {"targetId": page.target_id})


async def crash(native: "Native", _page: AgentPage) -> None:
    """Kills the process of the page that is busy."""
    found = await native.driver._browser.send("SystemInfo.getProcessInfo")
    renderers = [psutil.Process(each["id"]) for each in found["processInfo"] if each["type"] == "renderer"]
    before = [each.cpu_times().user for each in renderers]
    while max(used := [now.cpu_times().user - was for now, was in zip(renderers, before, strict=True)]) < 0.5:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    os.kill(renderers[used.index(max(used))].pid, signal.SIGKILL)


End = Callable[["Native", AgentPage], Awaitable[None]]
ENDS = pytest.mark.parametrize(("end", "told"), [(close, "The tab was closed."), (crash, "The page crashed.")])


@ENDS
async def test_a_tab_that_ends_in_the_middle_of_a_click(
    end: End, told: str, native_binary: NativeBinary, start_native: "StartNative"
) -> None:
    async with start_native(native_binary) as native:
        other = await native.show(await native.driver.first_page(), COUNTER)
        page = await native.driver.new_page()
        busy = await native.show(page, BUSY)
        child = native.child(1)
        clicking = asyncio.create_task(native.click(busy))
        while page._child._turn is None or native.driver.diagnostics()[-1].split()[0] != "mousemove":  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # nothing tells that a page has begun to be busy
        await end(native, page)
        with pytest.raises(PageGone) as caught:
            await clicking
        assert (caught.value.message, caught.value.input_sent) == (told, True)
        assert await native.gone(child)
        await page.ended.wait()
        with pytest.raises(PageGone):
            await page.read_ax()
        await still_works(native, other, "1")


@ENDS
async def test_a_tab_that_ends_with_its_dialog(
    end: End, told: str, native_binary: NativeBinary, start_native: "StartNative"
) -> None:
    async with start_native(native_binary) as native:
        other = await native.show(await native.driver.first_page(), COUNTER)
        page = await native.driver.new_page()
        await native.click(await native.show(page, CONFIRM))
        assert waiting(page) == Dialog(kind="confirm", message="1")
        await end_of(native, page, end)
        assert waiting(page) is None
        for call in (page.answer_dialog(True, None), page.document_nonce(), page.settle()):
            with pytest.raises(PageGone) as caught:
                await call
            assert caught.value.message == told
        await still_works(native, other, "1")


def waiting(page: AgentPage) -> Dialog | None:
    """Asked anew each time."""
    return page.dialog


async def end_of(native: "Native", page: AgentPage, end: End) -> None:
    if end is crash:  # idle processes look alike
        with pytest.raises(CdpClosed):
            await page._cdp.send("Page.crash")
    else:
        await end(native, page)
    await page.ended.wait()


async def test_a_dialog_that_somebody_else_answers(native_binary: NativeBinary, start_native: "StartNative") -> None:
    async with start_native(native_binary) as native:
        page = await native.driver.first_page()
        tab = await native.show(page, CONFIRM)
        await native.click(tab)
        assert page.dialog is not None
        await page._cdp.send("Page.handleJavaScriptDialog", {"accept": True})
        await page._dialogs.closed.wait()
        await page.settle()
        assert (await tab.observe("ax")).title == "true"


async def test_nothing_is_left_of_closed_tabs(native_binary: NativeBinary, start_native: "StartNative") -> None:
    async with start_native(native_binary) as native:
        await native.driver.first_page()
        mine = psutil.Process()
        before = (mine.num_fds(), sorted(native.temp.iterdir()))
        for open_page in (native.driver.new_page, native.driver.fresh_page) * 3:
            page = await open_page()
            await page.navigate(COUNTER)
            child = native.child(1)
            await page.close()
            assert await native.gone(child)
        assert (mine.num_fds(), sorted(native.temp.iterdir())) == before
        assert len(native.driver._queue.children) == 1
        contexts = await native.driver._browser.send("Target.getBrowserContexts")
        assert contexts["browserContextIds"] == []
