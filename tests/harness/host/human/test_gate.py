"""What every request of a person's browser must pass, and whose session each page needs."""

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from harness.host.human_pages import bot_key
from harness.host.scope import Bot

if TYPE_CHECKING:
    from tests.harness.host.human.conftest import Host, Person

ADA, EVE = Bot(name="ada", profile="P"), Bot(name="eve", profile="Q")


async def test_every_answer_is_kept_by_nobody_and_runs_nothing(host: "Host", person: "Person") -> None:
    host.enter(ADA)
    link = host.link()
    answers = [
        await person.get("/"),
        await person.get("/nowhere"),
        await person.get(link),
        await person.post(link, origin="http://evil.test"),
    ]
    await person.take(link)
    answers.append(await person.get("/bot"))
    assert [answer.status_code for answer in answers] == [403, 404, 200, 403, 200]
    policies = {answer.headers["content-security-policy"] for answer in answers}
    assert len(policies) == 1
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}'; form-action 'self'; base-uri 'none'; "
        r"frame-ancestors 'none'",
        policies.pop(),
    )
    for answer in answers:
        kept = {name: answer.headers[name] for name in ("cache-control", "referrer-policy", "x-content-type-options")}
        assert kept == {
            "cache-control": "no-store",
            "referrer-policy": "same-origin",
            "x-content-type-options": "nosniff",
        }
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "host_header", ["localhost:{port}", "127.0.0.1", "127.0.0.1:1", "evil.test:{port}", "evil.test", "[::1]:{port}", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_foreign_name_that_leads_here_is_refused(
    host: "Host", person: "Person", host_header: str, method: str
) -> None:
    host.enter(ADA)
    link = host.link()
    given = host_header.format(port=person.client.base_url.port)
    answer = await person.client.request(method, link, headers={"host": given, "origin": person.origin})
    assert (answer.status_code, answer.text) == (403, "This host answers only to its own address.")
    assert host.takeovers.status("ada") == "offered"


FOREIGN_ORIGINS: list[Mapping[str, str]] = [
    {},
    {"origin": "null"},
    {"origin": "http://evil.test"},
    {"origin": "http://127.0.0.1"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "https://127.0.0.1:{port}"},
    {"origin": "http://localhost:{port}"},
    {"referer": "http://127.0.0.1:{port}/"},
]


@pytest.mark.parametrize("headers", FOREIGN_ORIGINS)
async def test_a_button_of_another_site_does_nothing(
    host: "Host", person: "Person", headers: Mapping[str, str]
) -> None:
    call = await host.asked(ADA)
    link = host.link()
    async with host.browsing() as operator:
        await operator.enter()
        host.enter(EVE)
        await person.take(host.link(EVE))
        given = {name: value.format(port=person.client.base_url.port) for name, value in headers.items()}
        answers = [
            await operator.client.post("/approvals/1/once", headers=given),
            await operator.client.post(f"/bots/{bot_key('ada')}/pause", headers=given),
            await operator.client.post(f"/bots/{bot_key('ada')}/stop", headers=given),
            await operator.client.post(f"/bots/{bot_key('ada')}/takeover", headers=given),
            await operator.client.put("/", headers=given),
            await person.client.post(link, headers=given),
            await person.client.post("/bot/resume", headers=given),
            await person.client.post("/bot/stop", headers=given),
        ]
    said = {(answer.status_code, answer.text) for answer in answers}
    assert said == {(403, "This request does not come from a page of this host.")}
    assert (host.paused(), host.paused(EVE), host.takeovers.status("ada")) == (False, True, "offered")
    assert not call.done()
    await host.provider.stop("P")
    assert await call == "stopped"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/favicon.ico"),
        ("GET", "/bot/"),
        ("GET", "/bot/resume"),
        ("GET", "/takeover"),
        ("GET", "/takeover/x/y"),
        ("GET", "/approvals/1/once"),
        ("GET", "/../human.css"),
        ("POST", "/"),
        ("POST", "/bot"),
        ("DELETE", "/bot"),
        ("OPTIONS", "/"),
        ("POST", "/approvals/1/maybe"),
        ("POST", "/bots/x/pause"),
        ("POST", "/bots/{ada}/start"),
    ],
)
async def test_nothing_else_is_there(host: "Host", person: "Person", method: str, path: str) -> None:
    host.enter(ADA)
    await person.enter()
    answer = await person.client.request(method, path.format(ada=bot_key("ada")), headers={"origin": person.origin})
    assert (answer.status_code, person.words(answer)) == (404, "Not found There is nothing here.")


FORBIDDEN = (
    "No access This page belongs to a session that this browser does not have, or not any more. "
    "Use the link of the host, or of the bot's request."
)


@pytest.mark.parametrize("who", ["nobody", "forged", "takeover"])
async def test_the_operators_pages_are_the_operators_alone(host: "Host", person: "Person", who: str) -> None:
    call = await host.asked(ADA)
    if who == "forged":
        for name in ("operator", "takeover"):
            person.client.cookies.set(f"axtrial-{name}-{person.client.base_url.port}", "x" * 43)
    if who == "takeover":
        await person.take(host.link())
        for name, value in dict(person.client.cookies).items():
            person.client.cookies.set(name.replace("takeover", "operator"), value)
    answers = [
        await person.get("/"),
        await person.post("/approvals/1/once"),
        await person.post(f"/bots/{bot_key('ada')}/resume"),
        await person.post(f"/bots/{bot_key('ada')}/stop"),
        await person.post("/bots/x/stop"),
        await person.post(f"/bots/{bot_key('ada')}/takeover"),
    ]
    assert {(answer.status_code, person.words(answer)) for answer in answers} == {(403, FORBIDDEN)}
    assert (host.paused(), call.done()) == (who == "takeover", False)
    await host.provider.stop("P")
    await call


async def test_tokens_are_in_no_log_and_no_repr(
    host: "Host", person: "Person", caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpx").setLevel(logging.CRITICAL)  # the client's own, on the person's side
    logging.getLogger("httpcore").setLevel(logging.CRITICAL)
    host.enter(ADA)
    link = host.link()
    await person.enter()
    await person.take(link)
    await person.get(link)
    written = "".join(record.getMessage() for record in caplog.records) + "".join(capfd.readouterr()) + repr(host.site)
    for address in (link, host.site.operator_link):
        assert address.rpartition("/")[2] not in written
