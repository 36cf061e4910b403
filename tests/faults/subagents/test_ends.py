"""How calls, pages and the whole end: time, cancelling, modes, a killed Chromium, a parent that closes."""

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from harness.host.browsers import Browsers
from harness.host.pages import opened_pages
from harness.subagents.child import connect
from harness.subagents.launch import python_program, subagent_host
from harness.subagents.messages import BrowserResult
from harness.tools.modes import READ_TOOLS, Agent, LoadoutRefused

if TYPE_CHECKING:
    from tests.faults.subagents.conftest import Parent, Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

WORKER = Agent(kind="worker")
HANGS = "fetch('/hit').then(() => new Promise(() => {}))"


def error(answer: BrowserResult) -> tuple[str, str]:
    assert answer.error is not None, answer
    return answer.error.kind, answer.error.message


@pytest.mark.parametrize("expression", ["new Promise(() => {})", "(() => { while (true) {} })()"])
async def test_a_call_that_takes_too_long_ends_its_page_and_says_how_long_it_had(
    parent: "Parent", expression: str
) -> None:
    async with parent.host.place(WORKER) as place, connect(place.loadout) as browser:
        await browser.call("browser_eval", {"expression": "1"})
        answer = await browser.call("browser_eval", {"expression": expression, "timeout": 300})

        assert (answer.error, answer.text) == ("timed_out", "browser_eval timed out after 300 milliseconds")
        assert parent.pages.owners() == ()
        assert (await browser.call("browser_eval", {"expression": "2"})).text == "2"


async def test_a_call_that_is_cancelled_is_acknowledged_after_its_page_has_ended(
    parent: "Parent", site: "Site"
) -> None:
    async with parent.host.place(WORKER) as place, connect(place.loadout) as browser:
        await browser.call("browser_goto", {"url": site.address})
        call = asyncio.create_task(browser.call("browser_eval", {"expression": HANGS}))
        await parent.until(lambda: "/hit" in site.paths)
        call.cancel()
        await asyncio.wait({call})

        assert (call.cancelled(), parent.pages.owners()) == (True, ())


async def test_an_abort_crosses_the_channel_and_one_that_was_made_before_sends_nothing(
    parent: "Parent", site: "Site"
) -> None:
    abort = asyncio.Event()
    async with parent.host.place(WORKER) as place, connect(place.loadout) as browser:
        await browser.call("browser_goto", {"url": site.address})
        call = asyncio.create_task(browser.call("browser_eval", {"expression": HANGS}, abort))
        await parent.until(lambda: "/hit" in site.paths)
        abort.set()
        aborted = await call
        assert (aborted.error, aborted.text, parent.pages.owners()) == ("aborted", "browser_eval aborted", ())

        before = await browser.call("browser_eval", {"expression": "1"}, abort)
        assert (before.error, before.text, parent.pages.owners()) == ("aborted", "browser_eval aborted", ())


async def test_a_stricter_mode_wins_at_the_next_call(parent: "Parent", site: "Site") -> None:
    async with parent.host.place(WORKER) as place, connect(place.loadout) as browser:
        await browser.call("browser_goto", {"url": site.address})
        await browser.call("browser_eval", {"expression": "console.log('kept')"})
        parent.mode = "Plan"
        refused = await browser.call("browser_goto", {"url": site.address})
        first = await browser.call("browser_console", {"clear": True})
        again = await browser.call("browser_console", {"clear": True})
        picture = await browser.call("browser_screenshot", {})
        parents = await parent.call("browser_eval", expression="1")

        assert (refused.error, refused.text) == ("refused", "browser_goto refused: not allowed in the mode Plan")
        assert [first.text.endswith(" log: kept"), again.text == first.text, picture.ok] == [True, True, True]
        assert error(parents) == ("refused", "browser_eval refused: not allowed in the mode Plan")
    await parent.no_pages()


async def test_what_cannot_navigate_is_told_that_its_page_is_blank_and_takes_no_place(parent: "Parent") -> None:
    parent.mode = "Review"
    with pytest.raises(LoadoutRefused):
        async with parent.host.place(WORKER):
            pass
    async with parent.host.place(Agent(kind="explorer", tools=READ_TOOLS)) as place, connect(place.loadout) as browser:
        parent.mode = "Build"
        answers = [await browser.call(tool, {}) for tool in ("browser_console", "browser_screenshot", "browser_eval")]

    note = "this owner's page is blank: navigation is not allowed in this mode"
    assert [answer.text for answer in answers] == [
        "(empty)\nThis owner's page is blank: navigation is not allowed in this mode.",
        f"browser_screenshot failed: {note}",
        "browser_eval refused: not among this owner's tools",
    ]
    assert (answers[0].details, parent.pages.most) == ({"entries": [], "dropped": 0, "note": note}, 0)


async def test_a_killed_chromium_frees_all_places_and_the_next_call_starts_anew(parent: "Parent", site: "Site") -> None:
    async with parent.host.place(WORKER) as place, connect(place.loadout) as browser:
        await browser.call("browser_goto", {"url": site.address})
        assert await parent.evaluate("window.old = 1") == "1"
        call = asyncio.create_task(browser.call("browser_eval", {"expression": HANGS}))
        await parent.until(lambda: "/hit" in site.paths)
        parent.kill_chrome()
        answer = await call
        await parent.no_pages()

        assert (answer.error, answer.text) == ("failed", "browser_eval failed: the page was closed")
        assert await parent.evaluate("window.old ?? 'new'") == '"new"'
        assert (await browser.call("browser_eval", {"expression": "2"})).text == "2"
    assert len(parent.runtimes) == 2


async def test_a_load_that_fails_leaves_the_page(parent: "Parent", site: "Site") -> None:
    await parent.call("browser_goto", url=site.address)
    gone = await parent.call("browser_goto", url="http://127.0.0.1:1/")
    assert error(gone) == ("failed", "browser_goto failed: The page could not be loaded (net::ERR_UNSAFE_PORT).")
    assert parent.pages.owners() == ("parent",)


async def test_a_page_that_crashes_or_is_closed_by_others_gives_its_place_back_at_once(
    parent: "Parent", site: "Site"
) -> None:
    await parent.call("browser_goto", url=site.address)
    chrome = psutil.Process(parent.runtimes[-1].endpoint.pid)
    for process in chrome.children(recursive=True):
        if "--type=renderer" in process.cmdline():
            process.kill()
    await parent.no_pages()

    assert await parent.evaluate("1") == "1"
    browser = parent.runtimes[-1]._driver._cdp
    targets = (await browser.send("Target.getTargets"))["targetInfos"]
    for target in targets:
        await browser.send("Target.closeTarget", {"targetId": target["targetId"]})
    await parent.no_pages()
    assert await parent.evaluate("2") == "2"


async def test_turning_off_wins_over_calls_in_flight_and_nothing_is_started_again(
    parent: "Parent", site: "Site"
) -> None:
    await parent.call("browser_goto", url=site.address)
    calls = [asyncio.create_task(parent.call("browser_eval", expression=HANGS)) for _ in range(3)]
    await parent.until(lambda: site.paths.count("/hit") == 3)
    off = asyncio.create_task(parent.pages.turn_off())
    late = await parent.call("browser_eval", expression="1")
    answers = [await call for call in calls]
    await off

    assert error(late) == ("refused", "browser_eval refused: browser access is off")
    assert [error(answer) for answer in answers] == [("failed", "browser_eval failed: the page was closed")] * 3
    assert (parent.pages.owners(), len(parent.runtimes)) == ((), 1)


async def test_turning_off_while_the_browser_starts_leaves_none(parent: "Parent") -> None:
    call = asyncio.create_task(parent.call("browser_eval", expression="1"))
    await parent.until(lambda: parent.pages.owners() == ("parent",))
    await parent.pages.turn_off()

    assert error(await call) == ("refused", "browser_eval failed: the browser was closed while the page opened")
    assert [runtime.endpoint is None or not psutil.pid_exists(runtime.endpoint.pid) for runtime in parent.runtimes] in (
        [],
        [True],
    )
    parent.pages.turn_on()
    assert await parent.evaluate("3") == "3"


async def test_a_time_out_while_the_browser_starts_opens_nothing_later(parent: "Parent") -> None:
    answer = await parent.call("browser_goto", url="http://127.0.0.1:1/", timeout=100)
    assert error(answer) == ("timed_out", "browser_goto timed out after 100 milliseconds")
    assert parent.pages.owners() == ()
    assert await parent.evaluate("location.href") == '"about:blank"'
    driver = parent.runtimes[-1]._driver
    await parent.until(lambda: len(driver._context.pages) == 2)  # the browser's own, and the parent's


async def test_a_parent_that_closes_while_four_pages_are_open_leaves_nothing(
    browsers: Browsers, own_temp: Path, raw_child: str
) -> None:
    async def mode() -> str:
        return "Build"

    runtimes: list[Any] = []
    processes: list[psutil.Process] = []
    holds = "line = Line(); line.hello(); line.ask('1', 'browser_eval', expression='new Promise(() => {})')"
    program = python_program("-c", raw_child + holds)

    def make(key: Any) -> Any:
        runtimes.append(browsers.make(key))
        return runtimes[-1]

    async def child() -> None:
        async with host.spawn(WORKER, program) as launched:
            assert launched.process is not None
            processes.append(psutil.Process(launched.process.pid))
            await asyncio.Event().wait()

    async with opened_pages(make) as pages, subagent_host(pages, mode) as host:
        pages.turn_on()
        children = [asyncio.create_task(child()) for _ in range(3)]
        call = asyncio.create_task(host.call("browser_eval", {"expression": "new Promise(() => {})"}))
        async with asyncio.timeout(40):
            while len([owner for owner in pages.owners() if pages.page(owner) is not None]) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        chrome = psutil.Process(runtimes[-1].endpoint.pid)
        everything = [chrome, *chrome.children(recursive=True), *processes]
        for task in children:
            task.cancel()
        await asyncio.wait(children)

    assert error(await call)[0] == "aborted"
    _, alive = psutil.wait_procs(everything, timeout=10)
    assert (alive, pages.owners(), len(processes)) == ([], (), 3)
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
