"""The operator answers questions, pauses, resumes and stops; a late answer grants nothing."""

import asyncio
import re
import socket
from typing import TYPE_CHECKING

import pytest

from harness.drivers.fake import DEMO_URL
from harness.host.approvals import ApprovalRequest, Approvals
from harness.host.calls import CallTimes
from harness.host.grants import Decision
from harness.host.human import serve_human
from harness.host.human_pages import bot_key
from harness.host.scope import ApprovalScope, Bot, RuntimeKey
from harness.host.takeover import LINK_S

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
    assert '<meta http-equiv="refresh" content="10; url=/">' in empty.text
    assert "refresh" not in (await person.get("/?still")).text

    call = await host.asked(ADA)
    host.enter(EVE)
    host.provider.pause("eve")
    host.link(EVE)
    page = await person.get("/")
    assert person.words(page) == (
        "Bots of this host 1 question waits for your answer. This page stands still meanwhile; read it anew . "
        "Bots ada waits to be allowed Profile P Pause Stop bob not used yet Profile P Stop "
        "eve waits to be allowed paused asks a person to take over Profile Q Take over Resume Stop "
        "Stop ends the browser of a bot's profile and takes the permission from every bot that shares it. "
        "May they use the browser? ada wants to use the browser "
        "Session ada-1 Tool open Asks for http://fake.test/ "
        "Target fake Driver current Profile P Allow once Always Deny "
        "Allow once: for this session. Always: also for this bot's later sessions, until Stop or another target or "
        "driver. Deny: not in this session."
    )
    assert "<title>(1) Bots of this host - axtrial</title>" in page.text
    assert "refresh" not in page.text
    assert person.buttons(page) == [
        f"/bots/{bot_key('ada')}/pause",
        f"/bots/{bot_key('ada')}/stop",
        f"/bots/{bot_key('bob')}/stop",
        f"/bots/{bot_key('eve')}/takeover",
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


async def test_a_stop_is_confirmed_where_it_is_true(host: "Host", person: "Person") -> None:
    call = await host.asked(ADA)
    host.enter(BOB)
    await person.enter()
    await person.post("/approvals/1/once")
    assert await call == "ok"
    said = "Stopped: the browser of the profile P has ended, and every bot of it has lost its permission. "
    done = f"/?stopped={bot_key('ada')}"
    assert said not in person.words(await person.get(done))

    answer = await person.post(f"/bots/{bot_key('ada')}/stop")
    assert (answer.status_code, answer.headers["location"]) == (303, done)
    page = await person.get(done)
    bots = (
        "Bots ada stopped Profile P Stop bob stopped Profile P Stop eve not used yet Profile Q Stop "
        "Stop ends the browser of a bot's profile and takes the permission from every bot that shares it."
    )
    shown = "No question waits. This page is read anew every 10 s; let it stand still . "
    assert person.words(page) == f"Bots of this host {said}{shown}{bots}"
    assert '<p class="good" role="status">' in page.text
    assert person.words(await person.get("/")) == f"Bots of this host {shown}{bots}"

    host.enter(ADA)
    assert said not in person.words(await person.get(done))


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("once", "ada not paused Profile P Pause Stop bob"),
        ("deny", "ada denied Profile P Pause Stop bob"),
        ("pause", "ada paused Profile P Resume Stop bob"),
        ("access off", "ada no session now Profile P Stop bob"),
        ("over", "ada no session now Profile P Stop bob"),
        ("stop", "ada stopped Profile P Stop bob"),
        ("pause, stop", "ada stopped paused Profile P Resume Stop bob"),
        ("another denied", "ada not paused Profile P Pause Stop bob"),
        ("stop, again", "ada waits to be allowed Profile P Pause Stop bob"),
    ],
)
async def test_each_bot_is_shown_as_it_stands(host: "Host", person: "Person", what: str, shown: str) -> None:
    call = await host.asked(ADA)
    host.approver.answer("1", "deny" if what == "deny" else "once")
    assert await call == ("not_authorized" if what == "deny" else "ok")
    if "pause" in what:
        host.provider.pause("ada")
    if "stop" in what:
        await host.provider.stop("P")
    match what:
        case "access off":
            host.provider.set_access("ada", False)
        case "over":
            host.provider.unregister("ada-1")
        case "another denied":
            host.provider.register(ADA, "ada-2")
            host.approver.came.clear()
            other = host.begin("ada-2", "open", url=DEMO_URL)
            await asyncio.wait_for(host.approver.came.wait(), BOUND_S)
            host.approver.answer("2", "deny")
            assert await other == "not_authorized"
        case "stop, again":
            host.enter(ADA)
    await person.enter()
    assert f"Bots {shown} not used yet" in person.words(await person.get("/"))


async def test_a_question_shows_what_is_asked_for_escaped_and_bounded(host: "Host", person: "Person") -> None:
    await person.enter()
    scope = ApprovalScope(key=RuntimeKey(target="local", driver="current", profile="P"), revision=0, registration=1)
    asked = []
    for number, summary in enumerate(("http://a.test/<b>\u202e\n" + "x" * 300, "http://a.test/ok", "")):
        host.approver.came.clear()
        request = ApprovalRequest(bot="ada", session=f"s-{number}", tool="open", scope=scope, summary=summary)
        asked.append(asyncio.create_task(host.approver.ask(request)))
        await asyncio.wait_for(host.approver.came.wait(), BOUND_S)
    page = await person.get("/")
    assert re.findall(r"<dt>Asks for</dt><dd>(.*)</dd>", page.text) == [
        "http://a.test/&lt;b&gt;\\u202e\\n" + "x" * 180 + "…",
        "http://a.test/ok",
    ]
    for waiting in host.approver.waiting():
        host.approver.answer(waiting.number, "deny")
    assert await asyncio.gather(*asked) == ["deny"] * 3


async def test_an_approvals_summary_reaches_its_question(host: "Host", person: "Person") -> None:
    approvals = Approvals(host.provider.authority, host.approver)
    host.enter(ADA)
    ticket = host.provider.authority.issue("ada-1", "open")
    granted = asyncio.create_task(approvals.granted(ticket, CallTimes(), "http://a.test/"))
    await asyncio.wait_for(host.approver.came.wait(), BOUND_S)
    assert [one.request for one in host.approver.waiting()] == [
        ApprovalRequest(bot="ada", session="ada-1", tool="open", scope=ticket.scope, summary="http://a.test/")
    ]
    host.approver.answer("1", "once")
    await granted


async def test_the_operator_takes_over_without_the_link(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    link = host.link()
    await person.enter()
    answer = await person.post(f"/bots/{bot_key('ada')}/takeover")
    port = person.client.base_url.port
    assert (answer.status_code, answer.headers["location"]) == (303, "/bot")
    assert re.fullmatch(
        rf"axtrial-takeover-{port}=[\w-]{{43}}; HttpOnly; Path=/bot; SameSite=strict", answer.headers["set-cookie"]
    )
    assert (host.paused(), host.takeovers.status("ada"), (await person.get(link)).status_code) == (True, "taken", 404)
    assert person.words(await person.get("/bot")) == (
        "You have taken over ada The bot is paused . Work in the browser's own window, if this host shows one "
        "(AXTRIAL_HEADED=1). When you are done, resume: the bot looks at the page anew, and goes on from there. "
        "Resume Stop Stop ends the browser of the profile P and takes the permission from every bot that shares it. "
        "A page that you left half done is not kept."
    )
    again = await person.post(f"/bots/{bot_key('ada')}/takeover")
    assert (again.status_code, person.words(again)) == (409, NOT_OFFERED)
    done = await person.post("/bot/resume")
    assert (done.status_code, person.words(done)) == (
        200,
        "The bot goes on You have let go of the browser. The bot looks at the page anew before it acts. "
        "You can close this window. Back",
    )
    assert 'href="/"' in done.text
    assert (host.paused(), host.takeovers.status("ada")) == (False, "released")


NOT_OFFERED = (
    "Nothing to take over This bot does not ask for a person any more: somebody has taken over, or its request has "
    "ended. Back"
)


@pytest.mark.parametrize("what", ["never", "expired", "ended", "taken"])
async def test_the_operator_takes_over_only_what_is_asked_for(host: "Host", person: "Person", what: str) -> None:
    host.enter(ADA)
    await person.enter()
    if what != "never":
        link = host.link()
    match what:
        case "expired":
            host.now += LINK_S
        case "ended":
            host.takeovers.end("ada")
        case "taken":
            async with host.browsing() as other:
                await other.take(link)
    answer = await person.post(f"/bots/{bot_key('ada')}/takeover")
    assert (answer.status_code, person.words(answer), answer.headers.get("set-cookie")) == (409, NOT_OFFERED, None)
    assert (host.paused(), "Take over" in person.words(await person.get("/"))) == (what == "taken", False)


async def test_the_operators_resume_ends_a_takeover(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    finished = None
    async with host.browsing() as other:
        await other.take(host.link())
        finished = asyncio.create_task(host.takeovers.finished("ada", BOUND_S))
        await person.enter()
        assert "ada waits to be allowed paused in a person's hands Profile P Resume Stop" in person.words(
            await person.get("/")
        )
        await person.post(f"/bots/{bot_key('ada')}/resume")
        assert (await other.get("/bot")).status_code == 403
    assert (host.paused(), await finished) == (False, "released")


@pytest.mark.parametrize("action", ["pause", "resume", "takeover"])
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
