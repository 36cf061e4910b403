"""What attacks on the provider have found: each with what is right."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from harness.host.calls import BadCall
from harness.host.control import Control, pause, refusal, resume
from harness.host.fake import FakeRow
from harness.host.owners import MAX_TABS
from harness.host.scope import Bot
from observe.errors import NotAuthorized, ResumedSince, Stopped

if TYPE_CHECKING:
    from tests.harness.host.conftest import Desk


async def test_what_is_no_call_is_recorded_and_refused(desk: "Desk") -> None:
    session, _ = await desk.working()
    for tool, arguments in (("click", [1]), ("click", None), ({}, {})):
        with pytest.raises(BadCall):
            await desk.provider.call(session, tool, arguments)  # type: ignore[arg-type]
    row = FakeRow(
        bot="ada",
        session=session,
        tool="",
        summary="",
        outcome="bad_call",
        error="A call of an unknown tool, or with wrong parameters: the bot's fault.",
    )
    assert [replace(one, duration_ms=None) for one in desk.audit.rows[-3:]] == [row] * 3


async def test_access_switched_off_elsewhere_ends_the_next_call(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.provider.authority._access["ada"] = False  # as another process writes the file
    assert [await desk.kind(session, tool) for tool in ("observe", "observe")] == ["revoked", "revoked"]
    with pytest.raises(NotAuthorized):
        desk.provider.register(Bot(name="ada", profile="P"), session)


async def test_a_closed_host_does_nothing_any_more(desk: "Desk") -> None:
    session, _ = await desk.working()
    idle = desk.enter("bob", "Q")
    desk.browsers.hold("dispose")
    closing = asyncio.create_task(desk.provider.close())
    await desk.browsers.reached("dispose")
    assert [await desk.kind(one, "observe") for one in (session, idle)] == ["stopped", "stopped"]
    with pytest.raises(Stopped):
        desk.enter("eve", "R")
    desk.browsers.release("dispose")
    await closing
    with pytest.raises(Stopped):
        desk.enter("eve", "R")
    assert [runtime.disposed for runtime in desk.browsers.runtimes] == [True]


async def test_no_ref_outlives_its_session(desk: "Desk") -> None:
    session, refs = await desk.working()
    desk.provider.unregister(session)
    again = desk.enter("ada", session="ada-2")
    assert await desk.kind(again, "click", ref=refs[1]) == "stale_ref"


async def test_a_dialog_can_be_answered_after_a_change_of_authority() -> None:
    before, now = Control(), resume(pause(Control()))
    assert (refusal(before, 0, "dialog"), refusal(now, now.revision, "dialog")) == (None, None)
    assert (refusal(now, now.revision, "click"), refusal(now, 0, "dialog")) == (ResumedSince, ResumedSince)


async def test_a_bot_has_a_bounded_number_of_tabs(desk: "Desk") -> None:
    session, _ = await desk.working()
    for _ in range(MAX_TABS - 1):
        await desk.call(session, "tabs", action="open")
    refused = await desk.refused(session, "tabs", action="open")
    assert (refused.kind, refused.message) == (
        "tab_limit",
        "You have 20 tabs, and no more are allowed; close one first.",
    )
    bob, _ = await desk.working("bob")
    assert await desk.call(bob, "tabs", action="open")


async def test_a_tab_whose_call_was_cancelled_is_closed(desk: "Desk") -> None:
    session, _ = await desk.working()
    desk.browsers.hold("new_page")
    opening = desk.begin(session, "tabs", action="open")
    await desk.browsers.reached("new_page")
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    desk.browsers.release("new_page")
    while len(desk.browsers.runtimes[0].pages) < 2 or not desk.browsers.runtimes[0].pages[1].closed:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert [page.closed for page in desk.browsers.runtimes[0].pages] == [False, True]
