"""What the provider must hold, by what is done from outside, and browsers, tools and an approver that watch for it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from harness.errors import DriverError
from harness.host.approvals import ApprovalRequest
from harness.host.authority import Surroundings
from harness.host.calls import CURRENT, BadCall
from harness.host.fake import FakeAudit, FakeBrowsers, FakeRuntime, FakeTools
from harness.host.grants import Decision, Registration
from harness.host.provider import Policy, Provider
from harness.host.scope import Choice
from harness.host.tabs import BotTabs
from observe.errors import CleanupRequired, Refusal
from observe.model import Observation

BOTS = {"ada": "P", "eve": "P", "bob": "Q"}
CHOICES = (Choice(target="fake"), Choice(target="fake", drivers={"fake": "agent-browser"}), Choice(target="container"))
READS = frozenset({"read_ax", "read_dom"})
COMMANDS = READS | {"screenshot", "navigate", "click", "type", "press_key"}
IDLE_S = 100.0
BOUND_S = 5.0
TICKS = 8
"""Turns of the loop after each step: enough for most of what can go on to go on, and not for all."""


class Model:
    """What must hold, by what was done from outside."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.choice = CHOICES[0]
        self.revision = 0
        self.dead: set[int] = set()
        self.granted: set[int] = set()
        self.rules: dict[str, int] = {}
        self.control = dict.fromkeys(BOTS, 0)
        self.paused: set[str] = set()
        self.refs: dict[str, tuple[str, int]] = {}
        self.fresh = dict.fromkeys(BOTS, 0)

    def expect(self, holds: bool, what: str) -> None:
        """Keep what did not hold."""
        if not holds:
            self.faults.append(what)

    def may(self, number: int, bot: str) -> bool:
        """Whether calls of this registration may run."""
        return number not in self.dead and (number in self.granted or self.rules.get(bot) == self.revision)

    def end_bot(self, bot: str) -> None:
        """All that the bot has ends; the registrations themselves say so."""
        self.control[bot] += 1
        self.rules.pop(bot, None)

    def answer(self, request: ApprovalRequest, decision: Decision) -> None:
        """A person answers, perhaps too late."""
        scope = request.scope
        if scope.registration in self.dead or scope.revision != self.revision or decision == "deny":
            return
        self.granted.add(scope.registration)
        if decision == "always":
            self.rules[request.bot] = self.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What a call of the test began under."""

    control: int
    ref: str


BEGUN: ContextVar[Begun | None] = ContextVar("begun", default=None)


class WatchedBrowsers(FakeBrowsers):
    """Tells the model what is sent to a browser and what takes effect there, in the moment in which it does."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    async def passing(self, step: str) -> None:
        if step in COMMANDS:
            self.sent(step)
        await super().passing(step)

    def sent(self, what: str) -> None:
        """A command was sent: the authority must be what it was when its call began."""
        call, begun, model = CURRENT.get(), BEGUN.get(), self._model
        if call is None or begun is None:
            model.faults.append(f"{what} outside a call")
            return
        bot = call.ticket.registration.bot
        model.expect(begun.control == model.control[bot], f"{what} sent across a revision")
        model.expect(what in READS or bot not in model.paused, f"{what} sent while paused")
        if what in ("click", "type", "press_key"):
            model.expect(model.fresh[bot] == model.control[bot], f"{what} without a fresh observation")
        if what in ("click", "type"):
            given_out = model.refs.get(begun.ref)
            model.expect(given_out == (bot, model.control[bot]), f"{what} with a ref of before a revision")

    def note(self, what: str, runtime: FakeRuntime) -> None:
        model, key = self._model, runtime.key
        if what == "start":
            before = self.runtimes[: self.runtimes.index(runtime)]
            earlier = [one for one in before if one.key.profile == key.profile]
            model.expect(all(one.disposed for one in earlier), "a start before the end of the one before")
            model.expect(key == model.choice.key(key.profile), f"a start of {key}, which nobody chose")
        if what in ("start", "disposed"):
            return
        call = CURRENT.get()
        if call is None:
            model.faults.append(f"{what} outside a call")
            return
        registration = call.ticket.registration
        model.expect(model.may(registration.number, registration.bot), f"{what} without a live grant")
        model.expect(runtime.gone or not runtime.ending, f"{what} in a browser that is being ended")


class WatchedTools(FakeTools):
    """Tells the model which refs were given out."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def run(self, tabs: BotTabs, tool: str, arguments: Mapping[str, JsonValue]) -> object:
        answer = await super().run(tabs, tool, arguments)
        if isinstance(answer, Observation):
            if tabs.bot not in self._model.paused:
                self._model.fresh[tabs.bot] = self._model.control[tabs.bot]
            self._model.refs.update({one.ref: (tabs.bot, self._model.control[tabs.bot]) for one in answer.refs})
        return answer


class ByHand:
    """Waits for an answer, and takes no cancellation: every answer can come late."""

    def __init__(self) -> None:
        self.open: list[tuple[ApprovalRequest, asyncio.Future[Decision]]] = []

    async def ask(self, request: ApprovalRequest) -> Decision:
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self.open.append((request, answer))
        while not answer.done():
            try:
                await asyncio.shield(answer)
            except asyncio.CancelledError:
                continue
        return answer.result()


class Ended:
    """Tells the model that a registration ended; one for each."""

    def __init__(self, model: Model, number: int) -> None:
        self._model = model
        self._number = number

    def __call__(self) -> None:
        self._model.dead.add(self._number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ended) and other._number == self._number

    def __hash__(self) -> int:
        return self._number


class World:
    """One provider with three bots on two profiles, on a loop of its own, and all that was begun on it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.model, self.audit, self.approver = Model(), FakeAudit(), ByHand()
        self.browsers = WatchedBrowsers(self.model)
        self.now = 0.0
        self.calls: list[asyncio.Task[None]] = []
        self.changes: list[asyncio.Task[None]] = []
        self.ends: dict[int, str] = {}
        around = Surroundings(clock=lambda: self.now)
        policy = Policy(approver=self.approver, choice=CHOICES[0], around=around, idle_limit_s=IDLE_S)
        tools = WatchedTools(self.model)
        self.provider: Provider[object] = Provider(self.browsers.make, tools, self.audit, policy)

    def turn(self, action: Callable[[], object] = lambda: None) -> None:
        """Do something, then let the loop go on for a little."""

        async def ticks() -> None:
            action()
            for _ in range(TICKS):
                await asyncio.sleep(0)

        self.loop.run_until_complete(ticks())
        for bot in BOTS:
            for session in self.provider.authority.grants.sessions(bot):
                self.watch(self.provider.authority.grants.live(session))

    def watch(self, registration: Registration | None) -> None:
        """Learn of the registration's end when it happens."""
        if registration is not None:
            registration.interrupts.add(Ended(self.model, registration.number))

    def beside(self, work: Coroutine[Any, Any, None], tasks: "list[asyncio.Task[None]]") -> None:
        """Run it beside the further steps."""
        self.turn(lambda: tasks.append(asyncio.create_task(work)))

    async def one_call(self, number: int, session: str, tool: str, given: Mapping[str, JsonValue]) -> None:
        registration = self.provider.authority.grants.live(session)
        bot, control = session[:3], self.model.control[session[:3]]
        BEGUN.set(Begun(control=control, ref=str(given["ref"])))
        try:
            await self.provider.call(session, tool, given)
        except Refusal as refusal:
            self.ends[number] = refusal.kind
        except DriverError:
            self.ends[number] = "driver_failed"
        except BadCall:
            self.ends[number] = "bad_call"
        except asyncio.CancelledError:
            self.ends[number] = "cancelled"
            raise
        else:
            self.ends[number] = "ok"
            alive = registration is not None and self.model.may(registration.number, bot)
            self.model.expect(alive, f"an answer of {tool} without a live grant")
            self.model.expect(control == self.model.control[bot], f"an answer of {tool} across a revision")
            self.model.expect(tool == "observe" or bot not in self.model.paused, f"an answer of {tool} while paused")

    async def changed(self, change: "Coroutine[Any, Any, None] | asyncio.Task[None]") -> None:
        try:
            await change
        except CleanupRequired:
            return

    async def finish(self) -> None:
        """With nothing in the way any more, everything ends, and nothing is left."""
        for step in self.browsers.held:
            self.browsers.release(step)
        self.browsers.failing_disposals = 0
        async with asyncio.timeout(BOUND_S):
            while tasks := [task for task in (*self.calls, *self.changes) if not task.done()]:
                for _, answer in self.approver.open:
                    if not answer.done():
                        answer.set_result("deny")
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await self.provider.close()
            for _, answer in self.approver.open:
                if not answer.done():
                    answer.set_result("deny")
            for _ in range(TICKS):
                await asyncio.sleep(0)
        assert [task.exception() for task in self.calls if not task.cancelled() and task.exception()] == []
        assert [task.exception() for task in self.changes if task.exception()] == []
        assert all(runtime.disposed for runtime in self.browsers.runtimes)
        assert (len(self.provider._lanes), len(self.provider._approvals), self.provider._owners.owners()) == (0, 0, ())
        started = [self.ends[number] for number in range(len(self.calls)) if number in self.ends]
        assert sorted(row.outcome for row in self.audit.rows) == sorted(started)
