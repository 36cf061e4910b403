"""One queue for each key, in the order of arrival. What waits is asked again before its turn begins."""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Guard = Callable[[], None]
"""Raises the refusal by which the authority stops what was waiting."""


@dataclass(slots=True)
class _Lane:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class Lanes:
    """The queues that are in use; one that nobody waits in or holds is not kept."""

    def __init__(self) -> None:
        self._lanes: dict[Hashable, _Lane] = {}

    def __len__(self) -> int:
        return len(self._lanes)

    @asynccontextmanager
    async def turn(self, key: Hashable, guard: Guard) -> AsyncIterator[None]:
        """Wait for the turn, ask `guard`, and hold the turn for the block. Cancelled while it waits, nothing is run.

        Raises:
            Whatever `guard` raises.
        """
        lane = self._lanes.setdefault(key, _Lane())
        lane.users += 1
        try:
            async with lane.lock:
                guard()
                yield
        finally:
            lane.users -= 1
            if lane.users == 0:
                del self._lanes[key]
