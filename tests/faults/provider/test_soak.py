"""Eight bots at once on two profiles, while a person pauses, stops and switches: nobody sees what is another's."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from observe.errors import AuthorityChanged, CleanupRequired, Refusal

if TYPE_CHECKING:
    from tests.faults.provider.conftest import Real, Site

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.timeout(600)]

SECONDS = 300.0
BOTS = tuple("abcdefgh")
STEPS = ("observe", "observe", "click", "type", "press_key", "tabs", "screenshot", "foreign", "open")


def kinds(of: type[Refusal]) -> set[str]:
    """The outcome of a refusal and of all that are more special."""
    return {of.kind}.union(*(kinds(one) for one in of.__subclasses__()))


class Busy:
    """One bot that does one thing after another, and what it must never see."""

    def __init__(self, real: "Real", site: "Site", name: str, seen: dict[str, list[str]]) -> None:
        self.name = name
        self.profile = "P" if name < "e" else "Q"
        self.outcomes: Counter[str] = Counter()
        self._real = real
        self._url = f"{site.address}?bot={name}"
        self._seen = seen
        self._random = random.Random(name)
        self._session = real.enter(name, self.profile)

    async def run(self, end: float) -> None:
        """Go on until the time `end`."""
        while time.monotonic() < end:
            outcome = await self._step(self._random.choice(STEPS))
            self.outcomes[outcome] += 1
            if outcome != "ok":
                await asyncio.sleep(0.05)  # else a bot that is refused would do nothing but ask
            if outcome in ("stopped", "revoked", "not_authorized"):
                try:
                    self._session = self._real.enter(self.name, self.profile)
                except CleanupRequired:
                    await asyncio.sleep(0)
            if outcome in ("page_gone", "driver_gone", "driver_failed"):
                await self._session.call("open", {"url": self._url})

    async def _step(self, step: str) -> str:
        own = self._seen[self.name]
        ref = self._random.choice(own) if own else "eaaaaaa_1"
        match step:
            case "observe":
                answer = await self._session.call("observe", {})
                if answer.observation is not None:
                    assert answer.observation.url == self._url, (self.name, answer.observation.url)
                    own[:] = [one.ref for one in answer.observation.refs]
                return answer.outcome
            case "foreign":
                other = self._random.choice([name for name in BOTS if name != self.name])
                if not self._seen[other]:
                    return "ok"
                answer = await self._session.call("click", {"ref": self._seen[other][0]})
                assert answer.outcome != "ok", (self.name, other)
                return answer.outcome
            case "click":
                return (await self._session.call("click", {"ref": ref})).outcome
            case "type":
                return (await self._session.call("type", {"ref": ref, "text": self.name})).outcome
            case "press_key":
                return (await self._session.call("press_key", {"key": "a"})).outcome
            case "open":
                return (await self._session.call("open", {"url": self._url})).outcome
            case "tabs":
                answer = await self._session.call("tabs", {"action": "list"})
                lines = [line for line in answer.text.split("\n") if line.startswith("- ")]
                assert all(f"bot={self.name}" in line or line.endswith("not observed yet") for line in lines), lines
                return answer.outcome
            case _:
                return (await self._session.call(step, {})).outcome


async def person(real: "Real", end: float) -> Counter[str]:
    """Pauses, resumes, stops and switches, in a fixed order of chances."""
    chance, done = random.Random(0), Counter[str]()
    while time.monotonic() < end:
        await asyncio.sleep(chance.uniform(0.5, 3.0))
        act = chance.choice(("pause", "pause", "pause", "stop", "switch", "access", "idle"))
        bot, profile = chance.choice(BOTS), chance.choice("PQ")
        match act:
            case "pause":
                real.provider.pause(bot)
                await asyncio.sleep(chance.uniform(0.0, 1.0))
                real.provider.resume(bot)
            case "stop":
                await real.provider.stop(profile)
            case "switch":
                other = "current" if real.provider.authority.choice == real.choice(real.driver) else real.driver
                await real.provider.switch(real.choice(other))
            case "access":
                real.provider.set_access(bot, False)
            case "idle":
                await real.provider.idle_tick()
        done[act] += 1
    return done


async def test_eight_bots_on_two_profiles(
    real: "Real", site: "Site", record_property: Callable[[str, object], None]
) -> None:
    seen: dict[str, list[str]] = {name: [] for name in BOTS}
    bots = [Busy(real, site, name, seen) for name in BOTS]
    end = time.monotonic() + SECONDS
    async with asyncio.TaskGroup() as group:
        acts = group.create_task(person(real, end))
        for bot in bots:
            group.create_task(bot.run(end))
    done = acts.result()
    outcomes = sum((bot.outcomes for bot in bots), Counter[str]())
    known = kinds(Refusal) | {"ok", "driver_failed"}
    assert (set(outcomes) - known, set(done) >= {"pause", "stop"}) == (set(), True)
    assert outcomes["ok"] > 100, outcomes
    assert {outcome for outcome in outcomes if outcome in kinds(AuthorityChanged)} != set()
    rows = real.records()
    assert {row.bot for row in rows} <= {*BOTS, "-"}
    assert "fault" not in {row.outcome for row in rows}
    record_property("outcomes", dict(outcomes))
    record_property("acts", dict(done))
