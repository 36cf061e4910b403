"""A person takes one bot over by a link, sees it alone, and lets go or stops it."""

import asyncio
import re
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Page, async_playwright

from harness.host.scope import Bot
from harness.host.takeover import LINK_S
from harness.targets.base import Endpoint

if TYPE_CHECKING:
    from tests.harness.host.human.conftest import Host, Person

BOUND_S = 10.0
ADA, BOB, EVE = Bot(name="ada", profile="P"), Bot(name="bob", profile="P"), Bot(name="eve", profile="Q")


FORBIDDEN = (
    "No access This page belongs to a session that this browser does not have, or not any more. "
    "Use the link of the host, or of the bot's request."
)


async def test_a_takeovers_link_works_once_and_looking_at_it_does_not_use_it_up(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    link = host.link()
    for _ in range(3):
        look = await person.get(link)
        assert (look.status_code, look.headers.get("set-cookie"), "ada" in person.words(look)) == (200, None, False)
        assert person.words(look) == (
            "A bot asks for your help When you take over, the bot is paused at once: it can still look at its page, "
            "but do nothing. Work in the browser's own window, if this host shows one (AXTRIAL_HEADED=1), then come "
            "back to this page and let the bot go on. This link works once, and for ten minutes after it was made. "
            "Take over"
        )
    assert (host.paused(), host.takeovers.status("ada")) == (False, "offered")

    answer = await person.post(link)
    port = person.client.base_url.port
    assert re.fullmatch(
        rf"axtrial-takeover-{port}=[\w-]{{43}}; HttpOnly; Path=/bot; SameSite=strict", answer.headers["set-cookie"]
    )
    assert (host.paused(), host.takeovers.status("ada")) == (True, "taken")

    async with host.browsing() as late:
        for again in (await late.get(link), await late.post(link)):
            assert (again.status_code, again.headers.get("set-cookie")) == (404, None)
            assert person.words(again) == (
                "Link not usable This link does not work, or does not work any more. Ask for a new one."
            )
        assert (await late.get("/bot")).status_code == 403


@pytest.mark.parametrize("what", ["unknown", "expired", "replaced", "ended", "long"])
async def test_a_dead_link_is_refused_and_does_not_say_why(host: "Host", person: "Person", what: str) -> None:
    host.enter(ADA)
    link = host.link()
    match what:
        case "unknown":
            link = link[:-1] + ("A" if link[-1] != "A" else "B")
        case "expired":
            host.now += LINK_S
        case "replaced":
            host.link()
        case "ended":
            host.takeovers.end("ada")
        case _:
            link += "x" * 10_000
    for answer in (await person.get(link), await person.post(link)):
        assert answer.status_code == 404
        assert (
            person.words(answer)
            == "Link not usable This link does not work, or does not work any more. Ask for a new one."
        )
    assert not host.paused()


async def test_a_person_takes_over_and_lets_go(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    host.enter(BOB)
    await person.take(host.link())
    finished = asyncio.create_task(host.takeovers.finished("ada", BOUND_S))
    page = await person.get("/bot")
    assert person.words(page).startswith("You have taken over ada The bot is paused .")
    assert "bob" not in page.text
    assert person.buttons(page) == ["/bot/resume", "/bot/stop"]

    done = await person.post("/bot/resume")
    assert (done.status_code, person.words(done)) == (
        200,
        "The bot goes on You have let go of the browser. The bot looks at the page anew before it acts. "
        "You can close this window.",
    )
    assert done.headers["set-cookie"].startswith(f'axtrial-takeover-{person.client.base_url.port}=""; ')
    assert (host.paused(), await finished) == (False, "released")


async def test_a_takeover_that_is_over_has_no_session(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    await person.take(host.link())
    cookies = dict(person.client.cookies)
    await person.post("/bot/resume")
    async with host.browsing() as later:
        await later.take(host.link())  # the same bot, another person
        person.client.cookies.update(cookies)
        for answer in (await person.get("/bot"), await person.post("/bot/resume"), await person.post("/bot/stop")):
            assert (answer.status_code, person.words(answer)) == (403, FORBIDDEN)
        assert (host.paused(), host.takeovers.status("ada")) == (True, "taken")
        assert (await later.get("/bot")).status_code == 200
        host.takeovers.end("ada")  # as a Stop from elsewhere does
        assert (await later.get("/bot")).status_code == 403


async def test_the_persons_stop_ends_the_profile_and_every_link_on_it(host: "Host", person: "Person") -> None:
    call = await host.asked(ADA)
    host.approver.answer("1", "once")
    assert await call == "ok"
    host.enter(BOB)
    host.enter(EVE)
    bobs, eves = host.link(BOB), host.link(EVE)
    await person.take(host.link())
    stopped = await person.post("/bot/stop")
    assert (stopped.status_code, person.words(stopped)) == (
        200,
        "Stopped The browser was ended, and every bot of its profile has lost its permission. "
        "You can close this window.",
    )
    assert host.browsers.runtimes[0].disposed
    assert [host.takeovers.status(name) for name in ("ada", "bob", "eve")] == ["none", "none", "offered"]
    assert [(await person.get(link)).status_code for link in (bobs, eves)] == [404, 200]
    assert await host.begin("ada-1", "observe") == "stopped"


async def test_a_stop_that_fails_is_said_and_can_be_tried_again(host: "Host", person: "Person") -> None:
    call = await host.asked(ADA)
    host.approver.answer("1", "once")
    assert await call == "ok"
    await person.take(host.link())
    host.browsers.failing_disposals = 1
    failed = await person.post("/bot/stop")
    assert (failed.status_code, person.words(failed)) == (
        503,
        "Not everything has ended Every bot of this profile has lost its permission, but a part of the browser still "
        "runs. Nothing new is started on this profile until it is gone: go back, and use Stop again. Back",
    )
    assert 'href="/bot"' in failed.text
    assert "A part of this browser could not be ended" in person.words(await person.get("/bot"))
    assert (await person.post("/bot/stop")).status_code == 200
    assert not host.provider.cleanup_required("P")


async def click(page: Page, name: str) -> None:
    async with page.expect_navigation():
        await page.get_by_role("button", name=name, exact=True).click()


@pytest.mark.browser
async def test_a_person_clicks_through_it_in_a_real_browser(host: "Host", endpoint: Endpoint) -> None:
    call = await host.asked(ADA)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(endpoint.browser_ws)
        context = await browser.new_context()
        page = await context.new_page()
        faults: list[str] = []
        page.on("console", lambda message: faults.append(message.text))

        await page.goto(host.site.operator_link)
        await click(page, "Enter")
        await click(page, "Allow once: ada, ada-1")
        assert await call == "ok"
        assert await host.begin("ada-1", "screenshot") == "ok"

        await page.goto(host.link())
        assert await host.begin("ada-1", "screenshot") == "ok"
        await click(page, "Take over")
        assert await page.get_by_role("heading").all_inner_texts() == ["You have taken over ada"]
        assert await host.begin("ada-1", "screenshot") == "paused"
        assert await host.begin("ada-1", "observe") == "ok"

        await click(page, "Resume")
        assert await page.get_by_role("heading").all_inner_texts() == ["The bot goes on"]
        assert await host.begin("ada-1", "screenshot") == "ok"
        assert await host.begin("ada-1", "press_key", key="Tab") == "resumed_since"
        assert await host.begin("ada-1", "observe") == "ok"
        assert await host.begin("ada-1", "press_key", key="Tab") == "ok"

        # The style is let in by the policy, and nothing else was asked for but the icon.
        colour = await page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth")
        assert colour == "544px"
        assert [text for text in faults if "404" not in text] == []
        await context.close()
        await browser.close()


async def test_a_pause_of_the_operators_outlives_the_takeover(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    host.provider.pause("ada")
    await person.take(host.link())
    assert (await person.post("/bot/resume")).status_code == 200
    assert (host.paused(), host.takeovers.status("ada")) == (True, "released")
    host.provider.resume("ada")
    await person.take(host.link())
    assert (await person.post("/bot/resume")).status_code == 200
    assert (host.paused(), host.takeovers.status("ada")) == (False, "released")
