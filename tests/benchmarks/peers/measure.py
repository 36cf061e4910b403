"""Rounds over pages and tools: within a round every tool loads the page once and is asked twice, one after another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.errors import DriverError, TargetError
from observe.errors import MalformedRead, Refusal
from tests.benchmarks.peers.figures import Cell, Sample, cell
from tests.benchmarks.peers.pages import Page
from tests.benchmarks.peers.planted import kept
from tests.benchmarks.peers.serve import PageServer
from tests.benchmarks.peers.stdio import PeerFault
from tests.benchmarks.peers.tools import Snapshot, Tool

CELL_S = 120.0
"""Seconds of snapshots for one tool on one page; a slow tool then gets fewer rounds, at least one."""

FAULTS = (PeerFault, TimeoutError, Refusal, MalformedRead, DriverError, TargetError)
"""What ends a tool's part; all else is a mistake of ours and ends the run."""


@dataclass(slots=True)
class Measuring:
    """The tools that still work, and what broke the others."""

    tools: Mapping[str, Tool]
    server: PageServer
    tokens: Callable[[str], int | None]
    report: Callable[[str], None]
    broken: dict[str, str] = field(default_factory=dict)

    async def warm(self, page: Page) -> None:
        """Every tool once, not counted: browsers, daemons and caches are up then."""
        for name in self.tools:
            await self._taken(name, page)

    async def page(self, page: Page, rounds: int) -> list[Cell]:
        """The cells of all tools on one page."""
        samples: dict[str, list[Sample]] = {name: [] for name in self.tools}
        spent = dict.fromkeys(self.tools, 0.0)
        for number in range(rounds):
            for name in turned(list(self.tools), number):
                if name in self.broken or spent[name] >= CELL_S * 1000:
                    continue
                taken = await self._taken(name, page)
                if taken is not None:
                    samples[name].append(taken)
                    spent[name] += taken.first_ms + taken.again_ms
            self.report(f"{page.title}: round {number + 1} of {rounds}")
        return [cell(page.name, name, samples[name], self.broken.get(name)) for name in self.tools]

    async def _taken(self, name: str, page: Page) -> Sample | None:
        """One load and two snapshots; None, and a line in `broken`, where the tool failed."""
        tool = self.tools[name]
        address, number = self.server.new_address(page.name)
        try:
            await tool.load(address)
            await self.server.settled(number)
            first = await tool.snapshot()
            again = await tool.snapshot()
        except FAULTS as error:
            self.broken[name] = f"{page.title}: {type(error).__name__}: {error}"
            self.report(f"{name} broke off: {self.broken[name]}")
            return None
        return self._sample(page, first, again)

    def _sample(self, page: Page, first: Snapshot, again: Snapshot) -> Sample:
        return Sample(
            first_ms=first.ms,
            again_ms=again.ms,
            chars=len(first.text),
            tokens=self.tokens(first.text),
            kept=kept(first.text, page.facts),
            kept_near=kept(first.text, page.near),
        )


def turned(names: Sequence[str], number: int) -> list[str]:
    """The names from another one on in each round, so that none always follows the same load of the machine."""
    start = number % len(names) if names else 0
    return [*names[start:], *names[:start]]
