"""The loop of one trial over a page in memory: how it ends, what it counts, what the route is shown."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from harness.drivers.fake import FakeHost
from harness.drivers.fake_document import FakeDocument, FakeElement
from harness.drivers.fake_page import FakePage
from harness.models.base import Action, Done, GiveUp, ModelReply, ModelRequest, RouteError, ToolCall
from harness.targets.base import Endpoint
from harness.tools.params import schemas
from harness.tools.session import BotSession
from harness.trial.bot import INSTRUCTIONS, PersonaBot
from harness.trial.outcome import Ended
from harness.trial.steps import StepLog
from harness.trial.tasks import Limits
from reports.row import Usage

URL = "http://fake.test/"
NOWHERE = Endpoint(browser_ws="", http="", profile=Path(), browser_version="", os="", architecture="", pid=0)

OPEN = ToolCall(name="open", arguments={"url": URL})
OBSERVE = ToolCall(name="observe", arguments={})
STALE = ToolCall(name="click", arguments={"ref": "eaaaaaa_1"})
DONE = Done(text="done")
FOREVER = asyncio.Event
"""Instead of an action: the route never answers."""

Scripted = Action | RouteError | OSError | type[asyncio.Event]


@dataclass(slots=True)
class Listed:
    """A route that gives its actions one after another, and keeps what it was shown."""

    actions: list[Scripted]
    usage: Usage | None = None
    name: str = "listed"
    shown: list[ModelRequest] = field(default_factory=list)

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.shown.append(request)
        action = self.actions.pop(0)
        if isinstance(action, RouteError | OSError):
            raise action
        if isinstance(action, type):
            await action().wait()
            raise AssertionError
        return ModelReply(action=action, usage=self.usage)


def document() -> FakeDocument:
    return FakeDocument(title="Page", elements=[FakeElement(kind="button", name="Go")])


@pytest.fixture
async def page() -> AsyncIterator[FakePage]:
    async with FakeHost({URL: document}).attach(NOWHERE) as driver:
        yield await driver.first_page()


Play = Callable[..., PersonaBot]


@pytest.fixture
async def bot(page: FakePage, bot_on: Callable[..., Awaitable[BotSession]], tmp_path: Path) -> Play:
    """A bot whose route gives these actions."""
    tools = await bot_on(page, "verbatim")

    def make(
        actions: Sequence[Scripted], *, calls: int = 5, seconds: float = 20.0, usage: Usage | None = None
    ) -> PersonaBot:
        file = (tmp_path / "steps.jsonl").open("ab", buffering=0)
        return PersonaBot(
            goal="Go.",
            limits=Limits(calls=calls, seconds=seconds),
            route=Listed(list(actions), usage),
            tools=tools,
            log=StepLog(folder=tmp_path, file=file, encoding=None, facts=("Go", "Stay")),
        )

    return make


async def played(bot: PersonaBot) -> Ended:
    with bot.log.file:
        return await bot.play()


async def test_done_is_a_claim_and_every_call_is_shown_to_the_route(bot: Play) -> None:
    made = bot([OPEN, OBSERVE, DONE], usage=Usage(total=7, output=None))
    assert await played(made) == Ended(end="done")
    route, log = made.route, made.log
    assert isinstance(route, Listed)
    rendering = route.shown[2].latest
    assert rendering.startswith("URL: http://fake.test/\nTitle: Page\n\nAction refs (1 of 1):\n")
    assert [request.latest for request in route.shown[:2]] == ["", 'Opened "http://fake.test/".']
    assert [(step.call, step.answer) for step in route.shown[2].history] == [
        (OPEN, 'Opened "http://fake.test/".'),
        (OBSERVE, rendering),
    ]
    assert [(request.instructions, request.goal, len(request.tools)) for request in route.shown] == [
        (INSTRUCTIONS, "Go.", len(schemas(person=False)))
    ] * 3
    assert (log.calls, log.observations, log.refusals, log.errors, log.facts_kept()) == (2, 1, 0, 0, 1)
    assert log.usage() == Usage(total=21)


@pytest.mark.parametrize("calls", [1, 3])
async def test_the_limit_of_calls(bot: Play, calls: int) -> None:
    made = bot([OPEN] + [OBSERVE] * calls, calls=calls)
    assert await played(made) == Ended(end="limit_calls", detail=f"the limit of {calls} calls was reached")
    assert made.log.calls == calls


async def test_the_last_call_may_be_followed_by_done(bot: Play) -> None:
    made = bot([OPEN, OBSERVE, DONE], calls=2)
    assert await played(made) == Ended(end="done")


@pytest.mark.parametrize("last", [FOREVER, ToolCall(name="wait", arguments={"ms": 10_000})])
async def test_the_limit_of_time_ends_routes_and_calls(bot: Play, last: Scripted) -> None:
    made = bot([OPEN, last], seconds=0.1)
    assert await played(made) == Ended(end="limit_time", detail="the limit of 0.1 s was reached")
    assert made.log.calls == 1


async def test_another_timeout_is_not_the_limit_of_time(bot: Play) -> None:
    with pytest.raises(TimeoutError, match="of a socket"):
        await played(bot([TimeoutError("of a socket")]))


@pytest.mark.parametrize(
    ("before", "refused"),
    [
        ([], False),
        ([OPEN], False),
        ([OPEN, STALE], True),
        ([OPEN, STALE, OBSERVE], False),
        ([ToolCall(name="open", arguments={"url": "http://other.test/"})], True),
        ([ToolCall(name="fly", arguments={})], False),
    ],
)
async def test_giving_up_tells_whether_a_refusal_came_before(bot: Play, before: list[Scripted], refused: bool) -> None:
    ended = await played(bot([*before, GiveUp(reason="lost")]))
    assert ended == Ended(end="gave_up", detail="lost", refused=refused)


async def test_refusals_and_errors_are_counted_apart_and_go_on(bot: Play) -> None:
    made = bot([OPEN, STALE, ToolCall(name="fly", arguments={}), OBSERVE, STALE, DONE])
    assert await played(made) == Ended(end="done")
    assert (made.log.calls, made.log.refusals, made.log.errors) == (5, 2, 1)


async def test_a_failed_route(bot: Play) -> None:
    made = bot([OPEN, RouteError("no answer")])
    assert await played(made) == Ended(end="route_failed", detail="no answer")
    assert (made.log.calls, made.log.usage()) == (1, None)


async def test_a_browser_that_is_gone_is_the_drivers_fault(bot: Play, page: FakePage) -> None:
    made = bot([OPEN, OBSERVE])
    page.end()
    assert await played(made) == Ended(end="driver_failed", detail="Refused: The browser ended.")
    assert made.log.calls == 1


async def test_each_call_is_a_line_that_a_report_reads(bot: Play, tmp_path: Path) -> None:
    await played(
        bot([OPEN, ToolCall(name="type", arguments={"ref": "e", "text": "\ud800", "n": 2**70}), OBSERVE, DONE])
    )
    lines = [orjson.loads(line) for line in (tmp_path / "steps.jsonl").read_bytes().splitlines()]
    assert [(line["n"], line["tool"], line["outcome"]) for line in lines] == [
        (1, "open", "ok"),
        (2, "type", "bad_call"),
        (3, "observe", "ok"),
    ]
    assert lines[0]["arguments"] == {"url": URL}
    assert lines[1]["arguments"] == {"not JSON": f"{{'ref': 'e', 'text': '\\ud800', 'n': {2**70}}}"}
    assert lines[2]["rendering"].startswith("URL: ")
