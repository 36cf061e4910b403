"""The provider against a model of its own: any order of calls, answers, pauses, changes, faults and cancellations.

The model knows only what was done from outside and what reached the browsers. It is told of each effect in the moment
in which it takes place, and holds: no call runs without a live grant, no ref is used after a revision, no browser
starts before the one before it was ended, and nothing waits for ever.
"""

import asyncio
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import JsonValue

from harness.drivers.fake import DEMO_URL
from harness.host.grants import Decision
from harness.host.scope import Bot, Choice
from observe.errors import CleanupRequired

if TYPE_CHECKING:
    from tests.harness.host.provider_model import BOTS, CHOICES, IDLE_S, World
else:
    spec = importlib.util.spec_from_file_location("provider_model", Path(__file__).with_name("provider_model.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    BOTS, CHOICES, IDLE_S, World = module.BOTS, module.CHOICES, module.IDLE_S, module.World

STEPS = (
    "start",
    "new_page",
    "dispose",
    "read_ax",
    "read_dom",
    "screenshot",
    "navigate",
    "click",
    "type",
    "press_key",
    "close",
)
HELD: Mapping[str, str] = {"open": "navigate", "observe": "read_ax", "tabs": "new_page"}
"""The step of a call in which to hold it; else it is that of the tool's name."""

bots = st.sampled_from(sorted(BOTS))
sessions = st.sampled_from(["ada-1", "ada-2", "eve-1", "bob-1"])
tools = st.sampled_from(["open", "observe", "observe", "click", "click", "type", "press_key", "screenshot", "tabs"])
changes = st.sampled_from(["pause", "pause and resume", "stop", "switch", "idle", "die", "access off", "leave"])
actions = st.sampled_from(["list", "open", "select", "select", "close"])


class ProviderMachine(World, RuleBasedStateMachine):
    """The world's provider, in any order of these rules."""

    def __init__(self) -> None:
        World.__init__(self)
        RuleBasedStateMachine.__init__(self)

    # ---- sessions ----

    @rule(session=sessions)
    def enter(self, session: str) -> None:
        bot = session[:3]

        def register() -> None:
            self.provider.set_access(bot, True)
            try:
                self.watch(self.provider.register(Bot(name=bot, profile=BOTS[bot]), session))
            except CleanupRequired:
                assert self.provider.cleanup_required(BOTS[bot])

        self.turn(register)

    @rule(session=sessions)
    def leave(self, session: str) -> None:
        self.turn(lambda: self.provider.unregister(session))

    @rule(bot=bots)
    def access_off(self, bot: str) -> None:
        def switch_off() -> None:
            self.model.end_bot(bot)
            self.provider.set_access(bot, False)

        self.turn(switch_off)

    # ---- calls ----

    @initialize()
    def everybody_works(self) -> None:
        """Two bots of one profile and one of another, each allowed, with an observed page."""
        for session in ("ada-1", "eve-1", "bob-1"):
            self.work(session)

    @rule(session=sessions)
    def work(self, session: str) -> None:
        """A session comes to work, and a person allows it where one is asked."""
        self.resume(session[:3])
        if self.provider.authority.grants.live(session) is None:
            self.enter(session)
        for tool in ("open", "observe"):
            self.call(session, tool, 0, "list")
            while any(not answer.done() for _, answer in self.approver.open):
                self.answer("once")

    @rule(session=sessions, tool=tools, pick=st.integers(0, 30), action=actions)
    def call(self, session: str, tool: str, pick: int, action: str) -> None:
        refs = [ref for ref, (bot, _) in self.model.refs.items() if bot == session[:3]] or ["e000000_1"]
        given: dict[str, JsonValue] = {"ref": refs[-1 - pick % len(refs)], "url": DEMO_URL, "text": "x", "key": "y"}
        given |= {"action": action, "target_id": f"FAKE{pick % 4 + 1}"}
        self.beside(self.one_call(len(self.calls), session, tool, given), self.calls)

    @rule(session=sessions, tool=tools, change=changes)
    def collide(self, session: str, tool: str, change: str) -> None:
        """A change meets a call half-way, which then goes on; the same is tried again behind it."""
        self.work(session)
        step = HELD.get(tool, tool)
        self.hold(step)
        self.call(session, tool, 0, "open")
        self.change(change, session)
        self.let_go(step)
        self.call(session, tool, 0, "open")

    @rule(session=sessions, change=changes)
    def work_during_cleanup(self, session: str, change: str) -> None:
        """A session comes to work while a browser is being ended."""
        self.work(session)
        self.hold("dispose")
        self.change(change, session)
        self.work(session)
        self.let_go("dispose")

    @rule(session=sessions, change=changes)
    def use_ref_of_another_tab(self, session: str, change: str) -> None:
        """A ref from before a change, in a tab that was not observed since."""
        self.work(session)
        ref = next(reversed(self.model.refs), "e000000_1")
        first = self.provider._owners.current_id(session[:3])
        self.call(session, "tabs", 0, "open")
        self.change(change, session)
        self.work(session)
        for tool in ("tabs", "click"):
            given: dict[str, JsonValue] = {"action": "select", "target_id": first, "ref": ref}
            self.beside(self.one_call(len(self.calls), session, tool, given), self.calls)

    def let_go(self, step: str) -> None:
        """Release a step that another rule may have released already."""
        if step in self.browsers.held:
            self.browsers.release(step)
            self.turn()

    @rule(session=sessions, change=changes, decision=st.sampled_from(["once", "always"]))
    def answer_late(self, session: str, change: str, decision: Decision) -> None:
        """A change, and perhaps a new registration, come before the answer to an approval."""
        self.enter(session)
        self.call(session, "open", 0, "list")
        self.change(change, session)
        self.enter(session)
        self.call(session, "open", 0, "list")
        if any(not answer.done() for _, answer in self.approver.open):
            self.answer(decision)

    def change(self, change: str, session: str) -> None:
        bot = session[:3]
        match change:
            case "pause" | "pause and resume":
                self.pause(bot)
                if change != "pause":
                    self.resume(bot)
            case "stop":
                self.stop(BOTS[bot])
            case "switch":
                self.switch(CHOICES[(CHOICES.index(self.model.choice) + 1) % len(CHOICES)])
            case "idle":
                self.idle(IDLE_S)
            case "die":
                self.die(BOTS[bot])
            case "access off":
                self.access_off(bot)
            case "leave":
                self.leave(session)

    @precondition(lambda self: any(not task.done() for task in self.calls))
    @rule(pick=st.integers(0, 30))
    def cancel(self, pick: int) -> None:
        running = [task for task in self.calls if not task.done()]
        running[pick % len(running)].cancel()
        self.turn()

    # ---- approvals ----

    @precondition(lambda self: any(not answer.done() for _, answer in self.approver.open))
    @rule(decision=st.sampled_from(["once", "once", "always", "deny"]))
    def answer(self, decision: Decision) -> None:
        request, answer = next(one for one in self.approver.open if not one[1].done())

        def give() -> None:
            answer.set_result(decision)
            self.model.answer(request, decision)

        self.turn(give)

    # ---- changes ----

    @rule(bot=bots)
    def pause(self, bot: str) -> None:
        if self.known(bot) and bot not in self.model.paused:
            self.model.paused.add(bot)
            self.model.control[bot] += 1
            self.provider.pause(bot)

    @rule(bot=bots)
    def resume(self, bot: str) -> None:
        if self.known(bot) and bot in self.model.paused:
            self.model.paused.discard(bot)
            self.model.control[bot] += 1
            self.provider.resume(bot)

    def known(self, bot: str) -> bool:
        return bot in self.provider.authority.bots(BOTS[bot])

    @rule(profile=st.sampled_from(["P", "Q"]))
    def stop(self, profile: str) -> None:
        async def stop() -> None:
            for bot in self.provider.authority.bots(profile):
                self.model.end_bot(bot)
            await self.changed(self.provider.stop(profile))

        self.beside(stop(), self.changes)

    @rule(choice=st.sampled_from(CHOICES))
    def switch(self, choice: Choice) -> None:
        async def switch() -> None:
            if choice != self.model.choice:
                self.model.choice = choice
                self.model.revision += 1
                self.model.paused.clear()
                for bot in BOTS:
                    self.model.end_bot(bot)
            await self.changed(self.provider.switch(choice))

        self.beside(switch(), self.changes)

    @rule(seconds=st.sampled_from([IDLE_S / 2, IDLE_S]))
    def idle(self, seconds: float) -> None:
        async def tick() -> None:
            before = {bot: self.provider.authority.control(bot).invalidation for bot in BOTS if self.known(bot)}
            ticking = asyncio.create_task(self.provider.idle_tick())
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # the tick has ended what is idle, and waits
            for bot, invalidation in before.items():
                if self.provider.authority.control(bot).invalidation != invalidation:
                    self.model.control[bot] += 1
                    self.model.rules.pop(bot, None)
            await self.changed(ticking)

        self.now += seconds
        self.beside(tick(), self.changes)

    # ---- the browsers ----

    @rule(step=st.sampled_from(STEPS))
    def hold(self, step: str) -> None:
        if step not in self.browsers.held:
            self.browsers.hold(step)

    @precondition(lambda self: self.browsers.held)
    @rule(pick=st.integers(0, 30))
    def release(self, pick: int) -> None:
        self.browsers.release(self.browsers.held[pick % len(self.browsers.held)])
        self.turn()

    @rule()
    def fail_disposal(self) -> None:
        self.browsers.failing_disposals += 1

    @rule()
    def fail_start(self) -> None:
        self.browsers.failing_starts += 1

    @rule(profile=st.sampled_from(["P", "Q"]))
    def die(self, profile: str) -> None:
        for runtime in self.browsers.runtimes:
            if runtime.key.profile == profile:
                runtime.die()

    # ---- what must hold ----

    @invariant()
    def nothing_wrong(self) -> None:
        assert self.model.faults == []

    def teardown(self) -> None:
        self.loop.run_until_complete(self.finish())
        self.loop.close()
        assert self.model.faults == []


def run_sequences(count: int) -> None:
    """That many sequences of at most 30 steps."""
    run_state_machine_as_test(
        ProviderMachine,
        settings=settings(
            max_examples=count, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.parametrize("part", range(8))
def test_sequences(part: int) -> None:
    run_sequences(250)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_sequences(part: int) -> None:
    run_sequences(5_000)
