import asyncio
from typing import TYPE_CHECKING

import pytest

from harness.drivers.fake import DEMO_URL
from harness.host.scope import Bot, Choice
from observe.errors import CleanupRequired, Revoked, Stopped

if TYPE_CHECKING:
    from tests.harness.host.conftest import Desk

NATIVE = Choice(target="fake", drivers={"fake": "agent-browser"})
CONTAINER = Choice(target="container")


# ---- stop ----


async def test_stop_ends_every_bot_of_the_profile_before_it_waits(desk: "Desk") -> None:
    ada, _ = await desk.working("ada", "P")
    eve, _ = await desk.working("eve", "P")
    bob, refs = await desk.working("bob", "Q")
    desk.browsers.hold("dispose")
    stopping = asyncio.create_task(desk.provider.stop("P"))
    await desk.browsers.reached("dispose")

    assert [await desk.kind(one, "observe") for one in (ada, eve)] == ["stopped"] * 2
    await desk.call(bob, "click", ref=refs[1])
    desk.browsers.release("dispose")
    await stopping
    await desk.observe(bob)
    assert [runtime.gone for runtime in desk.browsers.runtimes] == [True, False]


async def test_stop_with_one_running_and_twenty_queued(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.browsers.hold("click")
    running = desk.begin(session, "click", ref=refs[1])
    await desk.browsers.reached("click")
    queued = [desk.begin(session, "press_key", key="x") for _ in range(20)]
    await desk.settled()
    await desk.provider.stop("P")

    with pytest.raises(Stopped) as refused:
        await running
    assert refused.value.input_sent is True
    assert [await desk.end(one) for one in queued] == ["stopped"] * 20
    assert desk.steps() == ["start", "navigate", "disposed"]
    assert len(desk.provider._lanes) == 0


async def test_what_a_stopped_page_still_answers_is_dropped(desk: "Desk") -> None:
    session, _ = await desk.working()
    fence = desk.provider.fence("ada")
    desk.provider.check_fence(fence)
    await desk.provider.stop("P")

    with pytest.raises(Revoked):
        desk.provider.check_fence(fence)
    desk.enter()
    with pytest.raises(Revoked):
        desk.provider.check_fence(fence)
    assert await desk.kind(session, "observe") == "page_gone"


async def test_after_stop_a_session_registers_and_is_asked_for_again(desk: "Desk") -> None:
    session, _ = await desk.working()
    await desk.provider.stop("P")
    assert await desk.kind(session, "open", url=DEMO_URL) == "stopped"
    _, refs = await desk.working()
    await desk.call(session, "click", ref=refs[1])

    assert len(desk.approver.asked) == 2
    assert desk.steps() == ["start", "navigate", "disposed", "start", "navigate", "click"]


async def test_an_approval_that_comes_after_stop_grants_nothing(desk: "Desk") -> None:
    session = desk.enter()
    desk.approver.by_hand = True
    waiting = desk.begin(session, "open", url=DEMO_URL)
    await desk.settled()
    await desk.provider.stop("P")
    assert await desk.end(waiting) == "stopped"
    desk.enter()
    again = desk.begin(session, "open", url=DEMO_URL)
    await desk.settled()
    desk.approver.answer("always")  # the old question
    await desk.settled()

    assert not again.done()
    assert desk.steps() == []
    desk.approver.answer("deny")
    assert await desk.end(again) == "not_authorized"


async def test_a_failed_end_blocks_until_a_later_stop_succeeds(desk: "Desk") -> None:
    await desk.working()
    desk.browsers.failing_disposals = 2
    for _ in range(2):
        with pytest.raises(CleanupRequired):
            await desk.provider.stop("P")
        assert desk.provider.cleanup_required("P")
        with pytest.raises(CleanupRequired):
            desk.provider.register(Bot(name="ada", profile="P"), "ada-1")
    await desk.provider.stop("P")

    await desk.working()
    assert desk.steps() == ["start", "navigate", "disposed", "start", "navigate"]
    assert desk.provider._slots.of("P").failures == 2


async def test_a_stop_that_is_cancelled_goes_on(desk: "Desk") -> None:
    await desk.working()
    desk.browsers.hold("dispose")
    stopping = asyncio.create_task(desk.provider.stop("P"))
    await desk.browsers.reached("dispose")
    stopping.cancel()
    await desk.settled()
    session = desk.enter()
    opening = desk.begin(session, "open", url=DEMO_URL)
    await desk.settled()
    assert desk.steps() == ["start", "navigate"]
    desk.browsers.release("dispose")

    assert await desk.end(opening) == "ok"
    assert desk.steps() == ["start", "navigate", "disposed", "start", "navigate"]


async def test_stop_while_the_browser_comes_up(desk: "Desk") -> None:
    session = desk.enter()
    desk.browsers.hold("start")
    opening = desk.begin(session, "open", url=DEMO_URL)
    await desk.browsers.reached("start")
    await desk.provider.stop("P")

    assert await desk.end(opening) == "stopped"
    assert desk.steps() == ["start", "disposed"]


# ---- switch ----


async def test_a_switch_refuses_one_running_and_three_queued(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.browsers.hold("click")
    desk.browsers.hold("dispose")
    calls = [desk.begin(session, "click", ref=refs[1])]
    await desk.browsers.reached("click")
    calls += [desk.begin(session, "observe") for _ in range(3)]
    await desk.settled()
    switching = asyncio.create_task(desk.provider.switch(NATIVE))
    await desk.browsers.reached("dispose")

    assert [await desk.end(one) for one in calls] == ["revoked"] * 4
    assert await desk.kind(session, "open", url=DEMO_URL) == "revoked"
    desk.browsers.release("dispose")
    await switching
    await desk.open(session)
    started = [(what, key.driver) for what, key in desk.browsers.log if what in ("start", "disposed")]
    assert started == [("start", "current"), ("disposed", "current"), ("start", "agent-browser")]
    assert len(desk.approver.asked) == 2


async def test_two_switches_in_a_row_start_only_the_last(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("dispose")
    first = asyncio.create_task(desk.provider.switch(NATIVE))
    await desk.browsers.reached("dispose")
    second = asyncio.create_task(desk.provider.switch(CONTAINER))
    await desk.settled()
    assert not second.done()
    desk.browsers.release("dispose")
    await asyncio.gather(first, second)
    await desk.open(session)

    keys = [(what, key.target, key.driver) for what, key in desk.browsers.log if what in ("start", "disposed")]
    assert keys == [
        ("start", "fake", "current"),
        ("disposed", "fake", "current"),
        ("start", "container", "current"),
    ]


async def test_a_switch_undoes_pauses_and_ends_refs_tabs_and_rules(desk: "Desk") -> None:
    desk.approver.decision = "always"
    session, refs = await desk.working()
    desk.provider.pause("ada")
    await desk.provider.switch(NATIVE)

    assert await desk.kind(session, "observe") == "page_gone"
    assert len(desk.approver.asked) == 2
    await desk.open(session)
    assert await desk.kind(session, "press_key", key="x") == "resumed_since"
    await desk.observe(session)
    assert await desk.kind(session, "click", ref=refs[1]) == "stale_ref"
    await desk.provider.switch(NATIVE)
    assert desk.steps().count("disposed") == 1


async def test_an_approval_that_comes_after_a_switch_grants_nothing(desk: "Desk") -> None:
    session = desk.enter()
    desk.approver.by_hand = True
    waiting = desk.begin(session, "open", url=DEMO_URL)
    await desk.settled()
    await desk.provider.switch(NATIVE)
    desk.approver.answer("always")

    assert await desk.end(waiting) == "revoked"
    again = desk.begin(session, "open", url=DEMO_URL)
    await desk.settled()
    assert (desk.approver.waiting, desk.steps()) == (1, [])
    desk.approver.answer("once")
    assert await desk.end(again) == "ok"


async def test_a_switch_whose_cleanup_fails_starts_nothing(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.failing_disposals = 1
    with pytest.raises(CleanupRequired):
        await desk.provider.switch(NATIVE)

    assert await desk.kind(session, "open", url=DEMO_URL) == "revoked"
    await desk.provider.idle_tick()
    await desk.open(session)
    assert desk.steps() == ["start", "navigate", "disposed", "start", "navigate"]


async def test_access_that_went_off_during_a_switch_stays_off(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("dispose")
    switching = asyncio.create_task(desk.provider.switch(NATIVE))
    await desk.browsers.reached("dispose")
    desk.provider.set_access("ada", False)
    desk.browsers.release("dispose")
    await switching

    assert await desk.kind(session, "open", url=DEMO_URL) == "revoked"
