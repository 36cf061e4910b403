import asyncio
from typing import TYPE_CHECKING

import pytest

from harness.drivers.fake import DEMO_URL
from harness.host.provider import opened
from observe.errors import CleanupRequired

if TYPE_CHECKING:
    from tests.harness.host.conftest import Desk

IDLE_S = 100.0


async def test_idle_tabs_are_closed_and_their_bot_revoked(desk: "Desk") -> None:
    ada, _ = await desk.working("ada")
    desk.now = IDLE_S
    bob, _ = await desk.working("bob")
    await desk.provider.idle_tick()

    assert await desk.kind(ada, "observe") == "revoked"
    await desk.observe(bob)
    assert [page.closed for page in desk.browsers.runtimes[0].pages] == [True, False]
    assert desk.steps() == ["start", "navigate", "navigate"]


async def test_an_idle_browser_is_ended_and_its_profile_revoked(desk: "Desk") -> None:
    ada, _ = await desk.working("ada", "P")
    desk.now = IDLE_S - 1
    bob, _ = await desk.working("bob", "Q")
    await desk.provider.idle_tick()
    assert "disposed" not in desk.steps()
    desk.now = IDLE_S
    await desk.provider.idle_tick()

    assert await desk.kind(ada, "observe") == "revoked"
    await desk.observe(bob)
    assert [runtime.gone for runtime in desk.browsers.runtimes] == [True, False]


async def test_a_call_under_way_is_not_idle(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("read_ax")
    observing = desk.begin(session, "observe")
    await desk.browsers.reached("read_ax")
    desk.now = 10 * IDLE_S
    await desk.provider.idle_tick()
    desk.browsers.release("read_ax")

    assert await desk.end(observing) == "ok"


async def test_a_call_that_begins_during_the_idle_end_gets_a_fresh_browser(desk: "Desk") -> None:
    await desk.working()
    desk.now = IDLE_S
    desk.browsers.hold("dispose")
    ticking = asyncio.create_task(desk.provider.idle_tick())
    await desk.browsers.reached("dispose")
    opening = desk.begin(desk.enter(), "open", url=DEMO_URL)
    await desk.settled()
    assert not opening.done()
    desk.browsers.release("dispose")
    await ticking

    assert await desk.end(opening) == "ok"
    assert desk.steps() == ["start", "navigate", "disposed", "start", "navigate"]


async def test_an_approval_does_not_keep_a_bot_from_being_idle(desk: "Desk") -> None:
    await desk.working()
    desk.approver.by_hand = True
    waiting = desk.begin(desk.enter(session="ada-2"), "observe")
    await desk.settled()
    desk.now = IDLE_S
    await desk.provider.idle_tick()
    assert await desk.end(waiting) == "revoked"
    desk.approver.answer("always")
    await desk.settled()

    again = desk.begin(desk.enter(session="ada-2"), "observe")
    await desk.settled()
    assert desk.approver.waiting == 1
    desk.approver.answer("once")
    assert await desk.end(again) == "page_gone"


async def test_the_idle_tick_retries_a_failed_end_and_counts(desk: "Desk") -> None:
    await desk.working()
    desk.browsers.failing_disposals = 3
    with pytest.raises(CleanupRequired):
        await desk.provider.stop("P")
    slot = desk.provider._slots.of("P")
    for failures in (2, 3):
        await desk.provider.idle_tick()
        assert (slot.blocked, slot.failures) == (True, failures)
    await desk.provider.idle_tick()
    assert (slot.blocked, slot.failures, desk.steps()[-1]) == (False, 3, "disposed")


async def test_the_provider_at_work_looks_after_idleness_and_ends_everything(desk: "Desk") -> None:
    async with opened(desk.provider, tick_s=0.001):
        await desk.working()
        desk.browsers.hold("dispose")
        desk.now = IDLE_S
        async with asyncio.timeout(5):
            await desk.browsers.reached("dispose")
        desk.now = 0.0
        desk.browsers.release("dispose")
        await desk.working()
    assert desk.steps()[-1] == "disposed"
