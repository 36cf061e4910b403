"""The children of one parent: who holds which token and tools. No record means no rights; no record is ever evicted.

A child's number only rises, so that an owner is never another child later.
"""

import asyncio
import hmac
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.errors import quoted
from harness.host.owners import PARENT, OwnerWrong
from harness.tools.modes import ALL_TOOLS

TOKEN_BYTES = 32


@dataclass(slots=True, kw_only=True, eq=False)
class Child:
    """One child while its run lasts. `pid` None: any process of this user that has the token may speak for it.

    `started`: `pid` is known. `leaving`: its connection ends, and what it left is cleared away. `offline`: it has no
    connection, and nothing of the last one is left. `ended`: its run is over, with or without a report.
    """

    owner: str
    tools: frozenset[str]
    token: str = field(default_factory=lambda: secrets.token_hex(TOKEN_BYTES), repr=False)
    pid: int | None = None
    leaving: bool = False
    report: dict[str, JsonValue] | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)
    offline: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _working: int = 0
    _rested: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.offline.set()

    def has(self, token: str) -> bool:
        """Whether it is this child's token, in constant time."""
        return hmac.compare_digest(self.token.encode(), token.encode("utf-8", "replace"))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """One of its calls is under way during the block."""
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            self.rest()

    def rest(self) -> None:
        """It is idle from now on, if no call is under way."""
        self._rested = time.monotonic()

    def idle_s(self) -> float:
        """Seconds since the last call ended; 0 while one is under way."""
        return 0.0 if self._working else time.monotonic() - self._rested

    async def ended_within(self, seconds: float) -> bool:
        """Wait for the end of its run; whether it has come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.ended.wait()
        return self.ended.is_set()

    def end(self, report: dict[str, JsonValue] | None = None) -> None:
        """Its run is over, and with it all its rights. The first report counts."""
        if not self.ended.is_set():
            self.report = report
            self.ended.set()


class Roll:
    """The records by owner."""

    def __init__(self) -> None:
        self._children: dict[str, Child] = {}
        self._past: set[str] = set()
        self._last = 0

    def enter(self, tools: frozenset[str], owner: str | None = None) -> Child:
        """A record for a new child, or for one that is resumed and keeps its owner.

        Raises:
            OwnerWrong: an owner that never was, or whose run has not ended.
        """
        if owner is None:
            self._last += 1
            owner = f"child-{self._last}"
        elif owner not in self._past:
            raise OwnerWrong(f"the owner {quoted(owner)} is not one whose run has ended")
        self._past.discard(owner)
        child = self._children[owner] = Child(owner=owner, tools=tools)
        return child

    def leave(self, child: Child) -> None:
        """Forget a child whose run is over."""
        child.end()
        if self._children.pop(child.owner, None) is not None:
            self._past.add(child.owner)

    def find(self, owner: str) -> Child | None:
        """The running child of that owner."""
        return self._children.get(owner)

    def children(self) -> tuple[Child, ...]:
        """All whose run lasts."""
        return tuple(self._children.values())

    def holds(self, owner: str) -> frozenset[str] | None:
        """The tools of an owner; the parent holds all, and who is not known or has reported holds none."""
        if owner == PARENT:
            return ALL_TOOLS
        child = self._children.get(owner)
        return None if child is None or child.ended.is_set() else child.tools
