"""A provider over fake browsers, with an approver that tests answer by hand and a clock that they turn."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest_asyncio
from pydantic import JsonValue

from harness.drivers.fake import DEMO_URL
from harness.host.approvals import ApprovalRequest
from harness.host.authority import Surroundings
from harness.host.fake import FakeAudit, FakeBrowsers, FakeTools
from harness.host.grants import Decision
from harness.host.provider import Policy, Provider
from harness.host.scope import Bot, Choice
from observe.errors import Refusal
from observe.model import Observation

BOUND_S = 10.0
IDLE_S = 100.0
READS = frozenset({"read_ax", "read_dom", "screenshot"})


@dataclass(slots=True)
class HandApprover:
    """Allows at once; or, by hand, waits for `answer`. It is stubborn: a cancelled question can still be answered."""

    by_hand: bool = False
    decision: Decision = "once"
    asked: list[ApprovalRequest] = field(default_factory=list)
    _answers: list[asyncio.Future[Decision]] = field(default_factory=list)

    async def ask(self, request: ApprovalRequest) -> Decision:
        """The decision, sooner or later."""
        self.asked.append(request)
        if not self.by_hand:
            return self.decision
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._answers.append(answer)
        while not answer.done():
            try:
                await asyncio.shield(answer)
            except asyncio.CancelledError:
                continue
        return answer.result()

    @property
    def waiting(self) -> int:
        """How many questions nobody has answered."""
        return sum(not answer.done() for answer in self._answers)

    def answer(self, decision: Decision) -> None:
        """Answer the oldest question that waits."""
        next(answer for answer in self._answers if not answer.done()).set_result(decision)


class Desk:
    """All of it, and the short words of the tests."""

    def __init__(self) -> None:
        self.browsers = FakeBrowsers()
        self.audit = FakeAudit()
        self.approver = HandApprover()
        self.now = 0.0
        policy = Policy(
            approver=self.approver,
            choice=Choice(target="fake"),
            around=Surroundings(clock=lambda: self.now),
            idle_limit_s=IDLE_S,
        )
        self.provider: Provider[object] = Provider(self.browsers.make, FakeTools(), self.audit, policy)

    def enter(self, bot: str = "ada", profile: str = "P", session: str | None = None) -> str:
        """Register a session of a bot that may use the browser."""
        session = session or f"{bot}-1"
        self.provider.set_access(bot, True)
        self.provider.register(Bot(name=bot, profile=profile), session)
        return session

    async def call(self, session: str, tool: str, **arguments: JsonValue) -> object:
        """One call."""
        async with asyncio.timeout(BOUND_S):
            return await self.provider.call(session, tool, arguments)

    async def refused(self, session: str, tool: str, **arguments: JsonValue) -> Refusal:
        """One call's refusal."""
        try:
            answer = await self.call(session, tool, **arguments)
        except Refusal as refusal:
            return refusal
        raise AssertionError(f"{tool} was not refused: {answer!r}")

    async def kind(self, session: str, tool: str, **arguments: JsonValue) -> str:
        """The kind of one call's refusal."""
        return (await self.refused(session, tool, **arguments)).kind

    def begin(self, session: str, tool: str, **arguments: JsonValue) -> "asyncio.Task[object]":
        """A call beside the test."""
        return asyncio.create_task(self.call(session, tool, **arguments))

    async def open(self, session: str) -> None:
        """Open the demo page."""
        await self.call(session, "open", url=DEMO_URL)

    async def observe(self, session: str) -> list[str]:
        """Observe; the refs."""
        seen = await self.call(session, "observe")
        assert isinstance(seen, Observation)
        return [one.ref for one in seen.refs]

    async def working(self, bot: str = "ada", profile: str = "P") -> tuple[str, list[str]]:
        """A session that has opened and observed the demo page; its field's ref comes first."""
        session = self.enter(bot, profile)
        await self.open(session)
        return session, await self.observe(session)

    async def end(self, task: "asyncio.Task[object]") -> str:
        """How a call ends: `ok`, or the kind of its refusal."""
        async with asyncio.timeout(BOUND_S):
            try:
                await task
            except Refusal as refusal:
                return refusal.kind
        return "ok"

    def steps(self) -> list[str]:
        """What happened to browsers and pages, reads left out."""
        return [what for what, _ in self.browsers.log if what not in READS]

    def outcomes(self) -> list[tuple[str, str]]:
        """Tool and outcome of each record."""
        return [(row.tool, row.outcome) for row in self.audit.rows]

    async def settled(self) -> None:
        """Let everything run that can run now."""
        for _ in range(20):
            await asyncio.sleep(0)


@pytest_asyncio.fixture(loop_scope="session")
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    yield made
    made.browsers.failing_disposals = 0
    for _ in range(made.approver.waiting):
        made.approver.answer("deny")
    async with asyncio.timeout(BOUND_S):
        await made.provider.close()
    await made.settled()
    assert all(runtime.gone for runtime in made.browsers.runtimes)
