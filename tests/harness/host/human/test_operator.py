"""The operator answers questions, pauses, resumes and stops; a late answer grants nothing."""

import asyncio
import re
import socket
from typing import TYPE_CHECKING

import pytest

from harness.drivers.fake import DEMO_URL
from harness.host.grants import Decision
from harness.host.human import serve_human
from harness.host.human_pages import bot_key
from harness.host.scope import Bot

if TYPE_CHECKING:
    from tests.harness.host.human.conftest import Host, Person

BOUND_S = 10.0
ADA, BOB, EVE = Bot(name="ada", profile="P"), Bot(name="bob", profile="P"), Bot(name="eve", profile="Q")
HOSTILE = Bot(name="<script>alert(1)</script>\u202e\n'\"" + "x" * 100, profile="<b>")


async def test_the_operators_link_works_once_and_looking_at_it_does_not_use_it_up(
    host: "Host", person: "Person"
) -> None:
    for _ in range(3):
        look = await person.get(host.site.operator_link)
        assert (look.status_code, look.headers.get("set-cookie")) == (200, None)
    assert (await person.client.head(host.site.operator_link)).status_code == 200
    answer = await person.post(host.site.operator_link)
    port = person.client.base_url.port
    assert re.fullmatch(
        rf"axtrial-operator-{port}=[\w-]{{43}}; HttpOnly; Path=/; SameSite=strict", answer.headers["set-cookie"]
    )
    assert (await person.get("/")).status_code == 200

    async with host.browsing() as late:
        for again in (await late.get(host.site.operator_link), await late.post(host.site.operator_link)):
            assert (again.status_code, again.headers.get("set-cookie")) == (404, None)
        assert (await late.get("/")).status_code == 403


async def test_the_operator_sees_every_bot_and_question(host: "Host", person: "Person") -> None:
    await person.enter()
    empty = await person.get("/")
    assert person.words(empty) == (
        "Bots of this host No question waits. This page is read anew every 10 s; let it stand still . "
        "Bots ada not used yet Profile P Stop bob not used yet Profile P Stop eve not used yet Profile Q Stop "
        "Stop ends the browser of a bot's profile and takes the permission from every bot that shares it."
    )
    assert '<meta http-equiv="refresh" content="10">' in empty.text
    assert "refresh" not in (await person.get("/?still")).text

    call = await host.asked(ADA)
    host.enter(EVE)
    host.provider.pause("eve")
    host.link(EVE)
    page = await person.get("/")
    assert person.words(page) == (
        "Bots of this host 1 question waits for your answer. This page stands still meanwhile; read it anew . "
        "Bots ada not paused Profile P Pause Stop bob not used yet Profile P Stop "
        "eve paused asks a person to take over Profile Q Resume Stop "
        "Stop ends the browser of a bot's profile and takes the permission from every bot that shares it. "
        "May they use the browser? ada wants to use the browser "
        "Session ada-1 Tool open Target fake Driver current Profile P Allow once Always Deny "
        "Allow once: for this session. Always: also for this bot's later sessions, until Stop or another target or "
        "driver. Deny: not in this session."
    )
    assert "<title>(1) Bots of this host - axtrial</title>" in page.text
    assert "refresh" not in page.text
    assert person.buttons(page) == [
        f"/bots/{bot_key('ada')}/pause",
        f"/bots/{bot_key('ada')}/stop",
        f"/bots/{bot_key('bob')}/stop",
        f"/bots/{bot_key('eve')}/resume",
        f"/bots/{bot_key('eve')}/stop",
        "/approvals/1/once",
        "/approvals/1/always",
        "/approvals/1/deny",
    ]
    assert (await person.post("/approvals/1/deny")).status_code == 303
    assert await call == "not_authorized"


@pytest.mark.parametrize(
    ("decision", "first", "next_one"),
    [("once", "ok", "asked"), ("always", "ok", "ok"), ("deny", "not_authorized", "asked")],
)
async def test_each_answer_counts_as_it_says(
    host: "Host", person: "Person", decision: Decision, first: str, next_one: str
) -> None:
    call = await host.asked(ADA)
    await person.enter()
    answer = await person.post(f"/approvals/1/{decision}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert await call == first
    if next_one == "asked":
        later = await host.asked(ADA)
        await host.provider.stop("P")
        assert await later == "stopped"
    else:
        assert await host.begin(host.enter(ADA), "open", url=DEMO_URL) == next_one


LATE = (
    "Too late This question does not wait any more: it was answered, took too long, or its session ended. "
    "Nothing was allowed or denied by your click. Back"
)


@pytest.mark.parametrize("what", ["stopped", "replaced", "answered", "cancelled", "never"])
async def test_a_late_answer_grants_nothing_and_says_so(host: "Host", person: "Person", what: str) -> None:
    call = await host.asked(ADA)
    await person.enter()
    number = "1"
    match what:
        case "stopped":
            await host.provider.stop("P")
            assert await call == "stopped"
        case "replaced":
            host.enter(ADA)
            assert await call == "revoked"
        case "cancelled":
            host.provider.unregister("ada-1")
            assert await call == "revoked"
        case "answered":
            host.approver.answer("1", "deny")
        case _:
            number = "9" * 5_000
    answer = await person.post(f"/approvals/{number}/always")
    assert (answer.status_code, person.words(answer)) == (409, LATE)
    if what == "never":
        await host.provider.stop("P")
    assert await call != "ok"
    assert host.approver.waiting() == ()
    assert host.browsers.runtimes == []


async def test_pause_resume_and_stop_of_the_operator(host: "Host", person: "Person") -> None:
    call = await host.asked(ADA)
    await person.enter()
    await person.post("/approvals/1/once")
    assert await call == "ok"

    assert (await person.post(f"/bots/{bot_key('ada')}/pause")).headers["location"] == "/"
    assert await host.begin("ada-1", "screenshot") == "paused"
    await person.post(f"/bots/{bot_key('ada')}/resume")
    assert await host.begin("ada-1", "screenshot") == "ok"

    host.browsers.failing_disposals = 1
    failed = await person.post(f"/bots/{bot_key('ada')}/stop")
    assert (failed.status_code, person.words(failed)[:27]) == (503, "Not everything has ended Ev")
    shown = person.words(await person.get("/"))
    assert "Cleanup required: an earlier browser of this profile could not be ended" in shown
    assert (await person.post(f"/bots/{bot_key('ada')}/stop")).status_code == 303
    assert "Cleanup required" not in person.words(await person.get("/"))


async def test_the_operators_resume_ends_a_takeover(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    finished = None
    async with host.browsing() as other:
        await other.take(host.link())
        finished = asyncio.create_task(host.takeovers.finished("ada", BOUND_S))
        await person.enter()
        assert "ada paused in a person's hands Profile P Resume Stop" in person.words(await person.get("/"))
        await person.post(f"/bots/{bot_key('ada')}/resume")
        assert (await other.get("/bot")).status_code == 403
    assert (host.paused(), await finished) == (False, "released")


@pytest.mark.parametrize("action", ["pause", "resume"])
async def test_a_bot_that_never_came_has_nothing_to_pause(host: "Host", person: "Person", action: str) -> None:
    await person.enter()
    answer = await person.post(f"/bots/{bot_key('bob')}/{action}")
    assert (answer.status_code, person.words(answer)) == (
        409,
        "Nothing to do yet This bot has not used a browser since the host was started. Back",
    )


async def test_hostile_names_are_text_bounded_and_on_one_line(host: "Host", person: "Person") -> None:
    host.bots = [HOSTILE]
    call = await host.asked(HOSTILE)
    await person.enter()
    page = await person.get("/")
    shown = "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\n&#39;&#34;" + "x" * 50 + "…"
    assert f'<h3 id="bot-{bot_key(HOSTILE.name)}">{shown}</h3>' in page.text
    assert f"<dt>Profile</dt><dd>{'&lt;b&gt;'}</dd>" in page.text
    assert "<script" not in page.text
    assert "x" * 51 not in page.text

    await person.take(host.link(HOSTILE))
    taken = await person.get("/bot")
    assert f"<h1>You have taken over {shown}</h1>" in taken.text
    assert "<script" not in taken.text
    await host.provider.stop("<b>")
    assert await call == "stopped"


async def test_a_stop_goes_on_where_the_pages_end_before_it(host: "Host", person: "Person") -> None:
    call = await host.asked(ADA)
    host.approver.answer("1", "once")
    assert await call == "ok"
    async with (
        serve_human(host.provider, host.takeovers, host.approver, lambda: host.bots) as host.site,
        host.browsing() as other,
    ):
        await other.enter()
        host.browsers.hold("dispose")
        stopping = asyncio.create_task(other.post(f"/bots/{bot_key('ada')}/stop"))
        await host.browsers.reached("dispose")
        half = socket.create_connection(("127.0.0.1", other.client.base_url.port or 0))
        half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        stopping.cancel()
        await asyncio.wait({stopping})
    half.close()
    assert not host.browsers.runtimes[0].gone
    host.browsers.release("dispose")
    await host.provider.stop("P")
    assert host.browsers.runtimes[0].disposed
