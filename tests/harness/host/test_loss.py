import asyncio
from typing import TYPE_CHECKING

from harness.drivers.fake import DEMO_URL
from harness.errors import DriverError
from harness.host.scope import Choice

if TYPE_CHECKING:
    from tests.harness.host.conftest import Desk

NATIVE = Choice(target="fake", drivers={"fake": "agent-browser"})


async def test_a_browser_that_died_is_cleared_up_and_only_open_starts_another(desk: "Desk") -> None:
    ada, refs = await desk.working("ada")
    bob, _ = await desk.working("bob")
    desk.browsers.runtimes[0].die()

    assert await desk.kind(ada, "click", ref=refs[1]) == "driver_gone"
    assert desk.steps() == ["start", "navigate", "navigate", "disposed"]
    assert [await desk.kind(one, "observe") for one in (ada, bob)] == ["page_gone"] * 2
    await desk.open(ada)
    assert desk.steps()[-2:] == ["start", "navigate"]
    assert len(desk.approver.asked) == 2


async def test_a_late_loss_does_not_end_the_next_browser(desk: "Desk") -> None:
    ada, _ = await desk.working("ada")
    bob, _ = await desk.working("bob")
    desk.browsers.hold("read_ax")
    late = desk.begin(ada, "observe")
    await desk.browsers.reached("read_ax")
    desk.browsers.runtimes[0].die()
    assert await desk.kind(bob, "screenshot") == "driver_gone"
    await desk.open(bob)
    desk.browsers.release("read_ax")

    assert await desk.end(late) == "driver_gone"
    await desk.observe(bob)
    assert [runtime.gone for runtime in desk.browsers.runtimes] == [True, False]


async def test_a_lost_browser_that_does_not_clear_up_blocks(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.failing_disposals = 1
    desk.browsers.runtimes[0].die()

    assert await desk.kind(session, "observe") == "cleanup_required"
    assert await desk.kind(session, "open", url=DEMO_URL) == "cleanup_required"
    await desk.provider.stop("P")
    await desk.working()


async def test_two_bots_share_one_cold_start(desk: "Desk") -> None:
    sessions = [desk.enter("ada"), desk.enter("bob")]
    desk.browsers.hold("start")
    opening = [desk.begin(one, "open", url=DEMO_URL) for one in sessions]
    await desk.browsers.reached("start")
    await desk.settled()
    desk.browsers.release("start")

    assert [await desk.end(one) for one in opening] == ["ok", "ok"]
    assert desk.steps() == ["start", "navigate", "navigate"]


async def test_a_failed_start_reaches_both_and_is_cleared_up(desk: "Desk") -> None:
    sessions = [desk.enter("ada"), desk.enter("bob")]
    desk.browsers.failing_starts = 1
    desk.browsers.hold("start")
    opening = [desk.begin(one, "open", url=DEMO_URL) for one in sessions]
    await desk.browsers.reached("start")
    await desk.settled()
    desk.browsers.release("start")

    ends = await asyncio.gather(*opening, return_exceptions=True)
    assert [type(end) for end in ends] == [DriverError, DriverError]
    await desk.open(sessions[0])
    assert desk.steps() == ["start", "disposed", "start", "navigate"]


async def test_one_bot_that_gives_up_does_not_end_the_start_for_the_other(desk: "Desk") -> None:
    sessions = [desk.enter("ada"), desk.enter("bob")]
    desk.browsers.hold("start")
    opening = [desk.begin(one, "open", url=DEMO_URL) for one in sessions]
    await desk.browsers.reached("start")
    await desk.settled()
    opening[0].cancel()
    await desk.settled()
    desk.browsers.release("start")

    assert await desk.end(opening[1]) == "ok"
    assert desk.steps() == ["start", "navigate"]


async def test_a_tab_that_comes_too_late_is_closed(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("new_page")
    opening = desk.begin(session, "tabs", action="open")
    await desk.browsers.reached("new_page")
    desk.provider.set_access("ada", False)
    desk.browsers.release("new_page")

    assert await desk.end(opening) == "revoked"
    assert len(desk.provider._owners.tabs("ada")) == 1


async def test_native_calls_queue_by_profile(desk: "Desk") -> None:
    await desk.provider.switch(NATIVE)
    ada, refs = await desk.working("ada", "P")
    bob, _ = await desk.working("bob", "P")
    eve, _ = await desk.working("eve", "Q")
    desk.browsers.hold("click")
    first = desk.begin(ada, "click", ref=refs[1])
    await desk.browsers.reached("click")
    second = desk.begin(bob, "press_key", key="x")
    await desk.call(eve, "press_key", key="x")
    await desk.settled()
    assert not second.done()
    desk.browsers.release("click")

    assert [await desk.end(first), await desk.end(second)] == ["ok", "ok"]
