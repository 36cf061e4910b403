import asyncio
from typing import TYPE_CHECKING

import pytest

from harness.drivers.fake import DEMO_URL
from harness.errors import DriverError
from harness.host.authority import ProfileFixed
from harness.host.calls import BadCall, CallTimes
from harness.host.fake import FakeRow
from harness.host.scope import Bot
from harness.host.tabs import TabInfo
from observe.errors import CleanupRequired, NotAuthorized

if TYPE_CHECKING:
    from tests.harness.host.conftest import Desk


async def test_a_bot_works_and_every_call_is_recorded_once(desk: "Desk") -> None:
    session, refs = await desk.working()
    assert await desk.call(session, "type", ref=refs[0], text="a secret") == "a secret"
    await desk.call(session, "click", ref=refs[1])
    assert desk.browsers.runtimes[0].pages[0].document.find("Saved: a secret")

    rows = [(row.bot, row.session, row.tool, row.summary, row.outcome, row.error) for row in desk.audit.rows]
    assert rows == [
        ("ada", "ada-1", "open", DEMO_URL, "ok", None),
        ("ada", "ada-1", "observe", "", "ok", None),
        ("ada", "ada-1", "type", f"{refs[0]}, text length 8", "ok", None),
        ("ada", "ada-1", "click", refs[1], "ok", None),
    ]
    assert len(desk.approver.asked) == 1


# ---- access and registration ----


async def test_access_is_off_by_default(desk: "Desk") -> None:
    with pytest.raises(NotAuthorized):
        desk.provider.register(Bot(name="ada", profile="P"), "s")
    assert await desk.kind("s", "observe") == "not_authorized"
    assert desk.audit.rows[0].bot == "-"


async def test_a_bot_keeps_its_profile(desk: "Desk") -> None:
    desk.enter("ada", "P")
    with pytest.raises(ProfileFixed):
        desk.enter("ada", "Q")


async def test_an_ended_session_is_not_known_any_more(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.provider.unregister(session)
    assert await desk.kind(session, "observe") == "not_authorized"


async def test_access_off_cancels_what_runs(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.browsers.hold("click")
    running = desk.begin(session, "click", ref=refs[1])
    await desk.browsers.reached("click")
    desk.provider.set_access("ada", False)

    assert await desk.end(running) == "revoked"
    assert "click" not in desk.steps()
    assert desk.audit.rows[-1].outcome == "revoked"
    assert await desk.kind(session, "observe") == "revoked"


async def test_access_off_and_on_again_drops_the_old_answer(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("read_dom")
    running = desk.begin(session, "observe")
    await desk.browsers.reached("read_dom")
    desk.provider.set_access("ada", False)
    desk.enter()
    desk.browsers.release("read_dom")

    assert await desk.end(running) == "revoked"
    assert len(desk.approver.asked) == 1
    await desk.observe(session)
    assert len(desk.approver.asked) == 2


async def test_refs_do_not_outlive_the_access(desk: "Desk") -> None:
    session, old = await desk.working()
    await desk.call(session, "tabs", action="open")
    desk.provider.set_access("ada", False)
    await desk.working()
    await desk.call(session, "tabs", action="select", target_id="FAKE1")

    assert await desk.kind(session, "click", ref=old[1]) == "stale_ref"


# ---- approval ----


async def test_a_session_is_asked_for_once_whatever_waits(desk: "Desk") -> None:
    session = desk.enter()
    desk.approver.by_hand = True
    waiting = [desk.begin(session, "open", url=DEMO_URL) for _ in range(3)]
    await desk.settled()
    assert desk.approver.waiting == 1
    desk.approver.answer("once")

    assert [await desk.end(one) for one in waiting] == ["ok"] * 3
    assert len(desk.approver.asked) == 1


async def test_a_denied_session_is_not_asked_for_again(desk: "Desk") -> None:
    session = desk.enter()
    desk.approver.decision = "deny"
    assert [await desk.kind(session, "observe") for _ in range(2)] == ["not_authorized"] * 2
    assert len(desk.approver.asked) == 1
    desk.enter()
    assert await desk.kind(session, "observe") == "not_authorized"
    assert len(desk.approver.asked) == 2


async def test_always_covers_later_sessions_of_the_bot_until_stop(desk: "Desk") -> None:
    desk.approver.decision = "always"
    await desk.working()
    desk.approver.decision = "deny"
    second = desk.enter(session="ada-2")
    await desk.observe(second)
    assert await desk.kind(desk.enter("bob"), "open", url=DEMO_URL) == "not_authorized"

    await desk.provider.stop("P")
    assert await desk.kind(desk.enter(session="ada-3"), "open", url=DEMO_URL) == "not_authorized"


async def test_a_cancelled_asker_does_not_take_the_question_back(desk: "Desk") -> None:
    session = desk.enter()
    desk.approver.by_hand = True
    waiting = [desk.begin(session, "open", url=DEMO_URL) for _ in range(2)]
    await desk.settled()
    waiting[0].cancel()
    await desk.settled()
    desk.approver.answer("once")

    assert await desk.end(waiting[1]) == "ok"
    assert desk.outcomes() == [("open", "cancelled"), ("open", "ok")]


async def test_the_wait_for_an_approval_is_measured_apart(desk: "Desk") -> None:
    session, times, later = desk.enter(), CallTimes(), CallTimes()
    await desk.provider.call(session, "open", {"url": DEMO_URL}, times)
    await desk.provider.call(session, "observe", {}, later)

    assert times.approval_ms is not None
    assert later.approval_ms is None
    assert later.authority_ms == pytest.approx(later.total_ms - later.wait_ms - later.run_ms)


# ---- record ----


async def test_what_cannot_be_recorded_is_not_done(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.audit.full = True
    refusal = await desk.refused(session, "click", ref=refs[1])

    assert (refusal.kind, refusal.input_sent) == ("not_recorded", None)
    assert "click" not in desk.steps()


async def test_an_answer_whose_end_cannot_be_recorded_is_withheld(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.audit.full_at_end = True
    refusal = await desk.refused(session, "click", ref=refs[1])

    assert (refusal.kind, refusal.input_sent) == ("not_recorded", True)
    assert desk.audit.rows[-1] == FakeRow(bot="ada", session=session, tool="click", summary=refs[1])
    told = await desk.refused(session, "click", ref="e000000_1")
    assert (told.kind, told.message, told.input_sent) == (
        "not_recorded",
        "The call could not be recorded, so it was refused.",
        None,
    )
    assert await desk.kind(session, "fly") == "not_recorded"


async def test_faults_of_the_bot_and_of_the_driver_are_recorded_as_such(desk: "Desk") -> None:
    session, _ = await desk.working()
    with pytest.raises(BadCall):
        await desk.call(session, "fly")
    with pytest.raises(KeyError):
        await desk.call(session, "open")
    assert await desk.kind(session, "click", ref="e000000_1") == "stale_ref"
    bob = desk.enter("bob", "Q")
    desk.browsers.failing_starts = 1
    with pytest.raises(DriverError):
        await desk.open(bob)

    assert [(row.outcome, row.error) for row in desk.audit.rows[2:]] == [
        ("bad_call", "A call of an unknown tool, or with wrong parameters: the bot's fault."),
        ("fault", "A fault of the host."),
        ("stale_ref", "The ref is not one of this tab's latest observation."),
        ("driver_failed", "A fault of the driver."),
    ]


# ---- tabs ----


async def test_a_bot_sees_selects_and_closes_only_its_own_tabs(desk: "Desk") -> None:
    ada, _ = await desk.working()
    bob, _ = await desk.working("bob")
    second = await desk.call(ada, "tabs", action="open")

    assert await desk.call(ada, "tabs", action="list") == (
        TabInfo(target_id="FAKE1", url=DEMO_URL, current=False),
        TabInfo(target_id="FAKE3", url=None, current=True),
    )
    assert await desk.call(bob, "tabs", action="list") == (TabInfo(target_id="FAKE2", url=DEMO_URL, current=True),)
    for action in ("select", "close"):
        refusal = await desk.refused(bob, "tabs", action=action, target_id=str(second))
        assert (refusal.kind, refusal.message) == ("page_gone", "You have no tab of this id.")
    assert await desk.call(ada, "tabs", action="select", target_id="FAKE1") == "FAKE1"
    await desk.call(ada, "tabs", action="close", target_id="FAKE3")
    assert len(desk.browsers.runtimes) == 1


async def test_a_ref_is_of_one_tab_and_one_bot(desk: "Desk") -> None:
    ada, refs = await desk.working()
    bob, _ = await desk.working("bob")
    assert await desk.kind(bob, "click", ref=refs[1]) == "stale_ref"
    await desk.call(ada, "tabs", action="open")
    await desk.open(ada)
    assert await desk.kind(ada, "click", ref=refs[1]) == "stale_ref"


async def test_a_closed_tab_drops_out_and_no_neighbour_takes_its_place(desk: "Desk") -> None:
    ada, refs = await desk.working()
    await desk.call(ada, "tabs", action="open")
    await desk.call(ada, "tabs", action="select", target_id="FAKE1")
    desk.browsers.runtimes[0].pages[0].closed = True

    refusal = await desk.refused(ada, "click", ref=refs[1])
    assert (refusal.kind, refusal.message) == ("page_gone", "The tab was closed.")
    refusal = await desk.refused(ada, "observe")
    assert refusal.message == "No tab is selected; open an address, or select one of your tabs."
    assert await desk.call(ada, "tabs", action="list") == (TabInfo(target_id="FAKE2", url=None, current=False),)


async def test_a_tab_that_was_made_for_an_address_goes_where_that_fails(desk: "Desk") -> None:
    session = desk.enter()
    assert await desk.kind(session, "open", url="http://nowhere.test/") == "load_failed"
    assert await desk.call(session, "tabs", action="list") == ()
    assert desk.browsers.runtimes[0].pages[0].closed


async def test_calls_of_one_bot_queue_and_those_of_others_do_not(desk: "Desk") -> None:
    ada, refs = await desk.working()
    bob, _ = await desk.working("bob")
    desk.browsers.hold("click")
    first = desk.begin(ada, "click", ref=refs[1])
    await desk.browsers.reached("click")
    second = desk.begin(ada, "press_key", key="x")
    await desk.call(bob, "press_key", key="y")
    assert not second.done()
    desk.browsers.release("click")

    assert [await desk.end(first), await desk.end(second)] == ["ok", "ok"]
    assert desk.steps() == ["start", "navigate", "navigate", "press_key", "click", "press_key"]


# ---- pause ----


async def test_only_observe_is_allowed_while_paused_and_does_not_count(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.provider.pause("ada")
    for tool in ("open", "screenshot", "click", "type", "press_key", "wait", "tabs"):
        assert await desk.kind(session, tool) == "paused"
    seen = await desk.observe(session)
    desk.provider.resume("ada")

    for ref in (refs[1], seen[1]):
        assert await desk.kind(session, "click", ref=ref) == "resumed_since"
    assert await desk.kind(session, "press_key", key="x") == "resumed_since"
    fresh = await desk.observe(session)
    assert await desk.kind(session, "click", ref=seen[1]) == "stale_ref"
    await desk.call(session, "click", ref=fresh[1])
    assert desk.steps().count("click") == 1


async def test_refs_of_another_tab_do_not_outlive_a_pause(desk: "Desk") -> None:
    session, old = await desk.working()
    await desk.call(session, "tabs", action="open")
    await desk.open(session)
    desk.provider.pause("ada")
    desk.provider.resume("ada")
    await desk.observe(session)
    await desk.call(session, "tabs", action="select", target_id="FAKE1")

    assert await desk.kind(session, "click", ref=old[1]) == "stale_ref"


@pytest.mark.parametrize("step", ["read_ax", "read_dom"])
@pytest.mark.parametrize(("resumed", "kind"), [(False, "paused"), (True, "resumed_since")])
async def test_a_pause_during_an_observation_refuses_it(desk: "Desk", step: str, resumed: bool, kind: str) -> None:
    session, _ = await desk.working()
    desk.browsers.hold(step)
    observing = desk.begin(session, "observe")
    await desk.browsers.reached(step)
    desk.provider.pause("ada")
    if resumed:
        desk.provider.resume("ada")
    desk.browsers.release(step)

    assert await desk.end(observing) == kind
    assert await desk.kind(session, "press_key", key="x") == kind


async def test_an_answer_that_needs_no_further_command_is_refused_too(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("new_page")
    opening = desk.begin(session, "tabs", action="open")
    await desk.browsers.reached("new_page")
    desk.provider.pause("ada")
    desk.browsers.release("new_page")

    assert await desk.end(opening) == "paused"


async def test_after_a_pause_no_further_command_is_sent(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.log.clear()
    desk.browsers.hold("read_ax")
    observing = desk.begin(session, "observe")
    await desk.browsers.reached("read_ax")
    desk.provider.pause("ada")
    desk.browsers.release("read_ax")

    assert await desk.end(observing) == "paused"
    assert [what for what, _ in desk.browsers.log] == ["read_ax"]


async def test_a_screenshot_across_a_pause_is_refused(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("screenshot")
    taking = desk.begin(session, "screenshot")
    await desk.browsers.reached("screenshot")
    desk.provider.pause("ada")
    desk.provider.resume("ada")
    desk.browsers.release("screenshot")

    assert await desk.end(taking) == "resumed_since"


async def test_queued_calls_refuse_at_a_pause_and_none_reaches_the_page(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.browsers.hold("click")
    running = desk.begin(session, "click", ref=refs[1])
    await desk.browsers.reached("click")
    queued = [desk.begin(session, tool, ref=refs[0], text="x", key="x") for tool in ("type", "press_key", "observe")]
    await desk.settled()
    desk.provider.pause("ada")
    desk.provider.resume("ada")
    desk.browsers.release("click")

    with pytest.raises(Exception, match="observe again") as refused:
        await running
    assert getattr(refused.value, "input_sent", None) is True
    assert [await desk.end(one) for one in queued] == ["resumed_since"] * 3
    assert desk.steps() == ["start", "navigate", "click"]


# ---- cancelling ----


async def test_cancelled_in_the_queue_nothing_is_sent(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.browsers.hold("click")
    running = desk.begin(session, "click", ref=refs[1])
    await desk.browsers.reached("click")
    queued = desk.begin(session, "press_key", key="x")
    await desk.settled()
    queued.cancel()
    with pytest.raises(asyncio.CancelledError):
        await queued
    desk.browsers.release("click")

    assert await desk.end(running) == "ok"
    assert desk.steps() == ["start", "navigate", "click"]
    assert desk.outcomes()[-2:] == [("click", "ok"), ("press_key", "cancelled")]
    assert len(desk.provider._lanes) == 0


async def test_a_blocked_profile_registers_nobody(desk: "Desk") -> None:
    await desk.working()
    desk.browsers.failing_disposals = 1
    with pytest.raises(CleanupRequired):
        await desk.provider.stop("P")
    with pytest.raises(CleanupRequired):
        desk.enter()
