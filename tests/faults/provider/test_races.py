"""What happens on a real browser when the authority changes while something is under way. Facts: provider-authority."""

import asyncio
from typing import TYPE_CHECKING

import psutil
import pytest

from harness.tools.answer import Answer
from harness.tools.session import BotSession
from observe.errors import CleanupRequired

if TYPE_CHECKING:
    from tests.faults.provider.conftest import Real, Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

Ended = tuple[str, bool | None]


def ended(answer: Answer) -> Ended:
    """How a call ended, and whether input may have been sent."""
    return answer.outcome, answer.input_sent


async def working(
    real: "Real", site: "Site", bot: str = "ada", profile: str = "P"
) -> tuple[BotSession, dict[str, str]]:
    """A session that shows the page, and its refs by their names."""
    session = real.enter(bot, profile)
    assert ended(await session.call("open", {"url": site.address})) == ("ok", None)
    return session, await real.refs(session)


async def test_pause_in_the_middle_of_an_observation(real: "Real", site: "Site") -> None:
    session, refs = await working(real, site)
    hold = real.hold("read_dom")
    observing = asyncio.create_task(session.call("observe", {}))
    await hold.reached.wait()
    real.provider.pause("ada")
    hold.released.set()
    answer = await observing
    assert (ended(answer), answer.rendering, answer.observation) == (("paused", None), None, None)
    real.holds.clear()

    while_paused = [await session.call(tool, {}) for tool in ("screenshot", "observe")]
    assert [one.outcome for one in while_paused] == ["paused", "ok"]
    shown = while_paused[1].observation
    assert shown is not None
    real.provider.resume("ada")
    for ref in (refs["Hit"], shown.refs[0].ref):
        assert (await session.call("click", {"ref": ref})).outcome == "resumed_since"
    assert site.hits == []
    fresh = await real.refs(session)
    assert (await session.call("click", {"ref": refs["Hit"]})).outcome == "stale_ref"
    assert (await session.call("click", {"ref": fresh["Hit"]})).outcome == "ok"
    assert await site.heard("click")


async def test_pause_with_commands_queued(real: "Real", site: "Site") -> None:
    session, refs = await working(real, site)
    hold = real.hold("click")
    clicking = asyncio.create_task(session.call("click", {"ref": refs["Hit"]}))
    await hold.reached.wait()
    queued = [asyncio.create_task(BotSession(real.provider, "ada-1").call("press_key", {"key": "a"})) for _ in range(5)]
    await asyncio.sleep(0)
    real.provider.pause("ada")
    hold.released.set()
    assert [(await task).outcome for task in (clicking, *queued)] == ["paused"] * 6
    real.provider.resume("ada")
    assert "key" not in site.hits


async def test_switch_in_the_middle_of_a_click(real: "Real", site: "Site") -> None:
    session, refs = await working(real, site)
    other = "current" if real.driver == "agent-browser" else "fake"
    hold = real.hold("click")
    clicking = asyncio.create_task(session.call("click", {"ref": refs["Slow"]}))
    await hold.reached.wait()
    queued = [asyncio.create_task(BotSession(real.provider, "ada-1").call("observe", {})) for _ in range(3)]
    hold.released.set()
    await asyncio.sleep(0)  # the click is on its way
    old = real.pid()
    await real.provider.switch(real.choice(other))
    assert not psutil.pid_exists(old)
    assert [ended(await task) for task in (clicking, *queued)] == [("revoked", True), *[("revoked", None)] * 3]
    assert (await session.call("observe", {})).outcome == "page_gone"
    assert len(real.made) == 1  # the next browser starts only when an address is opened
    await real.provider.switch(real.choice(real.driver))
    assert (await session.call("open", {"url": site.address})).outcome == "ok"
    assert [request.scope.key.driver for request in real.approver.asked] == [real.driver, other, real.driver]
    assert (real.pid() != old, "click" in site.hits) == (True, False)


async def test_stop_with_twenty_queued_calls(real: "Real", site: "Site") -> None:
    session, refs = await working(real, site)
    other, _ = await working(real, site, "eve", "Q")
    hold = real.hold("click")
    running = asyncio.create_task(session.call("click", {"ref": refs["Hit"]}))
    await hold.reached.wait()
    calls = [BotSession(real.provider, "ada-1").call("press_key", {"key": "a"}) for _ in range(20)]
    queued = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(0)
    pid = real.pid(0)
    await real.provider.stop("P")
    assert not psutil.pid_exists(pid)
    assert ended(await running) == ("stopped", True)
    assert [ended(await task) for task in queued] == [("stopped", None)] * 20
    assert site.hits == []
    real.holds.clear()
    assert (await session.call("observe", {})).outcome == "stopped"
    assert (await other.call("observe", {})).outcome == "ok"  # another profile keeps all it has
    outcomes = [row.outcome for row in real.records() if row.session == "ada-1"]
    assert outcomes == ["ok", "ok", *["stopped"] * 22]


async def test_a_tab_that_is_closed_from_outside_drops_out(real: "Real", site: "Site") -> None:
    session, _ = await working(real, site)
    first = (await session.call("tabs", {"action": "list"})).text
    assert (await session.call("tabs", {"action": "open", "url": site.address})).outcome == "ok"
    neighbour, _ = await working(real, site, "eve")
    await real.close_tab((await session.call("tabs", {"action": "list"})).text.split("\n")[2].split()[1])
    gone = await session.call("observe", {})
    assert (gone.outcome, gone.text) == ("page_gone", "Refused: The tab was closed.")
    assert (await session.call("tabs", {"action": "list"})).text == first.replace(" (current)", "")
    assert (await session.call("observe", {})).outcome == "page_gone"  # no neighbour takes its place
    assert (await neighbour.call("observe", {})).outcome == "ok"
    assert (await session.call("open", {"url": site.address})).outcome == "ok"
    assert len(real.made) == 1


async def test_an_approval_that_arrives_after_stop(real: "Real", site: "Site") -> None:
    real.approver.decision = asyncio.get_running_loop().create_future()
    session = real.enter()
    opening = asyncio.create_task(session.call("open", {"url": site.address}))
    while not real.approver.asked:  # noqa: ASYNC110 - some turns of the loop, and no time
        await asyncio.sleep(0)
    await real.provider.stop("P")
    assert ended(await opening) == ("stopped", None)
    again = real.enter()
    real.approver.decision.set_result("always")
    await real.approver.answered.wait()
    real.approver.decision = asyncio.get_running_loop().create_future()
    late = asyncio.create_task(again.call("open", {"url": site.address}))
    while len(real.approver.asked) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0)
    real.approver.decision.set_result("deny")
    assert ended(await late) == ("not_authorized", None)
    assert (site.loads, real.made) == (0, [])


async def test_a_disposal_that_fails_once(real: "Real", site: "Site") -> None:
    session, _ = await working(real, site)
    real.failing_disposals = 1
    with pytest.raises(CleanupRequired):
        await real.provider.stop("P")
    assert (real.provider.cleanup_required("P"), psutil.pid_exists(real.pid())) == (True, True)
    with pytest.raises(CleanupRequired):
        real.enter()
    assert (await session.call("open", {"url": site.address})).outcome == "stopped"
    other, _ = await working(real, site, "eve", "Q")
    assert (len(real.made), (await other.call("observe", {})).outcome) == (2, "ok")

    await real.provider.stop("P")
    assert (real.provider.cleanup_required("P"), psutil.pid_exists(real.pid(0))) == (False, False)
    session, _ = await working(real, site)
    assert (len(real.made), site.loads) == (3, 3)


async def test_a_browser_that_dies_is_cleared_up_and_started_only_by_an_open(real: "Real", site: "Site") -> None:
    session, refs = await working(real, site)
    psutil.Process(real.pid()).kill()
    assert (await session.call("click", {"ref": refs["Hit"]})).outcome in ("driver_gone", "page_gone")
    while (await session.call("observe", {})).outcome == "driver_gone":
        pass
    assert ((await session.call("observe", {})).outcome, len(real.made)) == ("page_gone", 1)
    assert (await session.call("open", {"url": site.address})).outcome == "ok"
    assert (len(real.made), site.loads, site.hits) == (2, 2, [])


async def test_refs_and_tabs_are_of_one_bot_and_one_tab(real: "Real", site: "Site") -> None:
    ada, refs = await working(real, site)
    eve, others = await working(real, site, "eve")
    assert (await eve.call("click", {"ref": refs["Hit"]})).outcome == "stale_ref"
    listed = (await ada.call("tabs", {"action": "list"})).text
    tab = listed.split()[3]
    for action in ("select", "close"):
        assert (await eve.call("tabs", {"action": action, "target_id": tab})).text == (
            "Refused: You have no tab of this id."
        )
    assert (await ada.call("tabs", {"action": "open", "url": site.address})).outcome == "ok"
    assert (await ada.call("click", {"ref": refs["Hit"]})).outcome == "stale_ref"
    assert (await ada.call("tabs", {"action": "select", "target_id": tab})).outcome == "ok"
    assert (await ada.call("click", {"ref": refs["Hit"]})).outcome == "ok"
    assert (await eve.call("click", {"ref": others["Hit"]})).outcome == "ok"
    assert (await site.heard("click", "click"), len(real.made)) == (True, 1)


async def test_every_tab_of_a_bot_can_be_pictured(real: "Real", site: "Site") -> None:
    session, _ = await working(real, site)
    first = (await session.call("tabs", {"action": "list"})).text.split()[3]
    assert (await session.call("tabs", {"action": "open", "url": site.address})).outcome == "ok"
    other, _ = await working(real, site, "eve")
    assert (await session.call("tabs", {"action": "select", "target_id": first})).outcome == "ok"
    assert (await other.call("open", {"url": site.address})).outcome == "ok"
    await session.call("wait", {"ms": 1_500})  # a tab behind another one is drawn for a moment longer
    for bot in (session, other, session):
        assert (await bot.call("screenshot", {})).outcome == "ok"
        assert bot.times.run_ms < 5_000
