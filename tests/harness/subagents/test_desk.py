"""Requests and results inside the parent: what is answered, with what, and what is ignored and counted."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from pydantic import JsonValue

from harness.subagents import waits
from harness.subagents.channel import Asker, Channel
from harness.subagents.messages import CANCEL, REQUEST, RESULT, BrowserResult

if TYPE_CHECKING:
    from tests.harness.subagents.conftest import Fake

Message = Mapping[str, JsonValue]


@pytest.fixture
def results(fake: "Fake") -> list[Message]:
    """All that is told on the channel."""
    told: list[Message] = []
    fake.host.channel.subscribe(RESULT, told.append)
    return told


def request(number: str = "1", **more: JsonValue) -> dict[str, JsonValue]:
    call: dict[str, JsonValue] = {"tool": "browser_eval", "params": {"expression": "2"}}
    return {"requestId": number, "owner": "parent", **call, **more}


MALFORMED: list[tuple[dict[str, JsonValue], str]] = [
    (request(owner=" "), "owner"),
    (request(owner="x" * 257), "owner"),
    (request(owner="a\0b"), "owner"),
    (request(owner=7), "owner"),
    (request(tool=""), "tool"),
    (request(params=[]), "params"),
    (request(params=None), "params"),
    (request(more=1), "more"),
]


@pytest.mark.parametrize(("message", "where"), MALFORMED, ids=[where for _, where in MALFORMED])
async def test_a_malformed_request_is_answered_by_its_id(
    fake: "Fake", results: list[Message], message: dict[str, JsonValue], where: str
) -> None:
    fake.host.channel.publish(REQUEST, message)
    said = {"kind": "bad_request", "message": f"the request is malformed: {where}"}
    assert results == [{"requestId": "1", "owner": None, "ok": False, "result": None, "error": said}]


@pytest.mark.parametrize("number", [" ", 7, None, "a\0b", "x" * 257])
async def test_without_a_usable_id_nothing_is_answered(fake: "Fake", results: list[Message], number: JsonValue) -> None:
    message = request()
    message["requestId"] = number
    fake.host.channel.publish(REQUEST, message)
    fake.host.channel.publish(CANCEL, {"requestId": number, "owner": "parent"})
    assert (results, fake.host.desk.ignored["malformed"]) == ([], 2)


async def test_who_asks_hears_what_a_malformed_request_was(fake: "Fake") -> None:
    pair = Channel()

    def answer(message: Message) -> None:
        error: dict[str, JsonValue] = {"kind": "bad_request", "message": "no"}
        common = {"requestId": message["requestId"], "ok": False, "error": error}
        for owner in ("child-2", None):  # the first is another's, and counts for nothing
            pair.publish(RESULT, {**common, "owner": owner})
        pair.publish(RESULT, {**common, "owner": "child-1"})
        pair.publish(RESULT, {"requestId": 7})

    pair.subscribe(REQUEST, answer)
    asker = Asker(pair)
    result = await asker.ask("child-1", "browser_eval", {})
    assert (result.owner, result.error and result.error.message) == (None, "no")
    assert asker.ignored == {"foreign_owner": 1, "late": 1, "malformed": 1}


async def test_a_request_that_nobody_answers_ends_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "MARGIN_S", 0.05)
    pair, cancelled = Channel(), list[Message]()
    pair.subscribe(CANCEL, cancelled.append)
    result = await Asker(pair).ask("child-1", "browser_eval", {"timeout": 100})
    assert (result.error and (result.error.kind, result.error.message), len(cancelled)) == (
        ("no_answer", "browser_eval got no answer within 0.15 seconds"),
        1,
    )


@pytest.mark.parametrize("bound", [100, 30_000, 120_000])
def test_inner_waits_end_first(bound: int) -> None:
    assert bound / 1000 + waits.REAP_S < waits.channel_s(bound) < waits.child_s(bound)


def told(result: BrowserResult) -> str:
    return result.result.text if result.result is not None else f"{result.error}"


async def test_a_request_under_way_is_not_begun_twice(fake: "Fake", results: list[Message]) -> None:
    hanging = request(params={"expression": "hang"})
    fake.host.channel.publish(REQUEST, hanging)
    fake.host.channel.publish(REQUEST, hanging)
    async with asyncio.timeout(5):
        while not fake.browser.pages:  # noqa: ASYNC110 - the page is made by a task of the registry
            await asyncio.sleep(0)
        await fake.browser.pages[0].holding.wait()
    fake.host.channel.publish(CANCEL, {"requestId": "1", "owner": "child-1"})  # not the owner's
    assert results == []
    fake.host.channel.publish(CANCEL, {"requestId": "1", "owner": "parent"})
    fake.host.channel.publish(CANCEL, {"requestId": "1", "owner": "parent"})
    await fake.browser.pages[0].closed.wait()
    async with asyncio.timeout(5):
        while not results:  # noqa: ASYNC110
            await asyncio.sleep(0)
    error = {"kind": "aborted", "message": "browser_eval aborted"}
    assert results == [{"requestId": "1", "owner": "parent", "ok": False, "result": None, "error": error}]
    assert (fake.host.desk.ignored, fake.pages.owners()) == ({"replayed": 1}, ())


@pytest.mark.parametrize(
    ("tool", "params", "said"),
    [
        ("browser_eval", {"expression": "7"}, '"7"'),
        ("browser_eval", {"expression": "throw"}, 'failed: browser_eval failed: it threw "Error: no"'),
        ("browser_eval", {}, 'bad_request: browser_eval failed: the parameter "expression": Field required'),
        ("browser_nix", {}, 'bad_request: browser_nix failed: there is no tool "browser_nix"; there are '),
        ("browser_close", {}, "parent had no page."),
    ],
)
async def test_what_is_told(fake: "Fake", tool: str, params: dict[str, JsonValue], said: str) -> None:
    result = await fake.host.call(tool, params)
    error = result.error
    assert (told(result) if error is None else f"{error.kind}: {error.message}").startswith(said)


async def test_no_record_means_refused(fake: "Fake") -> None:
    for owner in ("child-1", "nobody"):
        result = await Asker(fake.host.channel).ask(owner, "browser_eval", {"expression": "1"})
        assert result.error is not None
        assert (result.error.kind, result.error.message) == (
            "refused",
            "browser_eval refused: unknown owner, or its run has ended",
        )


@pytest.mark.parametrize("tool", ["browser_console", "browser_close", "browser_eval"])
async def test_the_gate_is_for_every_tool_and_for_the_parent_too(fake: "Fake", tool: str) -> None:
    await fake.pages.turn_off()
    result = await fake.host.call(tool, {"expression": "1"} if tool == "browser_eval" else {})
    assert result.error is not None
    assert (result.error.kind, result.error.message) == ("refused", f"{tool} refused: browser access is off")


async def test_a_fault_of_ours_is_told_at_once_and_shown(fake: "Fake") -> None:
    shown: list[object] = []
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _loop, context: shown.append(context["exception"]))
    try:
        result = await fake.host.call("browser_eval", {"expression": "fault"})
    finally:
        loop.set_exception_handler(handler)
    assert result.error is not None
    assert (result.error.message, [type(one) for one in shown]) == (
        "browser_eval failed: a fault of the host",
        [LookupError],
    )


@pytest.mark.parametrize(
    ("tool", "params"),
    [("browser_goto", {"url": "http://a.test/"}), ("browser_screenshot", {})],
)
async def test_a_mode_that_changes_while_the_browser_starts_wins(
    fake: "Fake", tool: str, params: dict[str, JsonValue]
) -> None:
    fake.browser.may_start.clear()
    call = asyncio.create_task(fake.host.call(tool, params))
    await fake.browser.starting.wait()
    fake.mode = "Plan"
    fake.browser.may_start.set()
    result = await call
    said = {
        "browser_goto": ("refused", "browser_goto refused: not allowed in the mode Plan"),
        "browser_screenshot": (
            "failed",
            "browser_screenshot failed: this owner's page is blank: navigation is not allowed in this mode",
        ),
    }
    assert result.error is not None
    assert (result.error.kind, result.error.message) == said[tool]
    assert [page.url for page in fake.browser.pages] == ["about:blank"]
