"""The one queue of a browser profile's native children, the bounds that they are held to, and their common end."""

import asyncio
import signal
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout
from harness.drivers.other_tabs import OtherTabs
from harness.errors import quoted
from harness.leftovers import HARD, kill_group
from harness.process import OwnedProcess, finish

CLOSE_S = 2.0
"""Seconds between the polite and the hard end of the children and of Chrome; both take about 0.5 s."""

MAX_DIAGNOSTICS = 1_000
MAX_DIAGNOSTIC_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long a child is waited for, in seconds, and how long a reply may be, in bytes.

    Where a tab or a frame does not answer, a child is not at fault: it gets `held_s` more, in which it gives up by
    itself, after 33 s for its own tab and 30 s for each other one. For a frame of its own tab it never gives up: each
    `patience_s` of a snapshot its frames are asked. A snapshot of 20,000 elements has 1.25 MB.
    """

    start_s: float = 15.0
    command_s: float = 15.0
    snapshot_s: float = 30.0
    patience_s: float = 5.0
    held_s: float = 60.0
    reply_bytes: int = 64 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class Queue:
    """One queue for all commands on one browser profile, and its end. `diagnostics` is for the trial's folder."""

    browser: CdpConnection
    others: OtherTabs
    chrome_pid: int
    bounds: Bounds = field(default_factory=Bounds)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    children: list[OwnedProcess] = field(default_factory=list)
    dead: bool = False
    diagnostics: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_DIAGNOSTICS))

    def note(self, action: str, outcome: str, start: float) -> None:
        """Keep how a command ended."""
        ms = (time.perf_counter() - start) * 1000
        self.diagnostics.append(f"{action} {ms:.1f} ms {quoted(outcome, MAX_DIAGNOSTIC_CHARS)}")

    async def abort(self) -> None:
        """End every child and Chrome, also where this task is cancelled meanwhile.

        Takes at most 2 * CLOSE_S. Issued input is not undone, and nothing is replayed.
        """
        self.dead = True
        await finish(self._end())

    async def _end(self) -> None:
        children = tuple(self.children)
        for child in children:
            kill_group(child.pid, signal.SIGTERM)
        with suppress(CdpClosed, CdpError, CdpTimeout):
            await self.browser.send("Browser.close", timeout_s=CLOSE_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(self.browser.closed.wait(), *(child.wait() for child in children))
        for child in children:
            if child.returncode is None:
                kill_group(child.pid, HARD)
        if not self.browser.closed.is_set():
            kill_group(self.chrome_pid, HARD)
