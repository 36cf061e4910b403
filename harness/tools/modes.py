"""Which of the eight verification tools may be used in a mode; pure rules, asked by the host alone.

Anything that is not known is restricted: an unknown mode, no mode, an answer that comes too late.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from harness.errors import UsageError, quoted

READ_TOOLS = frozenset({"browser_console", "browser_network", "browser_screenshot"})
"""All that a restricted mode allows; what it reads is not cleared."""

ALL_TOOLS = READ_TOOLS | {"browser_goto", "browser_eval", "browser_fill", "browser_click", "browser_close"}

BUILD = "Build"
MODES = (BUILD, "Discuss", "Plan", "Review", "Design")
"""Only Build lets pages be changed; the others are told apart by name alone."""

MODE_S = 1.0
"""Seconds within which the parent must say its mode."""

ModeSource = Callable[[], Awaitable[str | None]]
"""Asks the parent for its mode now; None: it does not know."""


class LoadoutRefused(UsageError):
    """An agent must not be started as it is in the parent's mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A child to be started. `tools`: the browser tools that its description names; None: it names none at all."""

    kind: Literal["worker", "explorer"]
    tools: frozenset[str] | None = ALL_TOOLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What an owner may do now, and the mode that says so. `clear`: reading may empty a buffer."""

    mode: str
    tools: frozenset[str]
    clear: bool


def tools_in(mode: str | None) -> frozenset[str]:
    """The tools of a mode."""
    return ALL_TOOLS if mode == BUILD else READ_TOOLS


def loadout(agent: Agent, mode: str | None) -> frozenset[str]:
    """The tools that an agent is started with.

    Raises:
        LoadoutRefused: it names no tools, or more than the mode allows; or it is a worker, and the mode is not Build.
    """
    if agent.tools is None:
        raise LoadoutRefused(f"the {agent.kind} names no tools, so it is not started")
    if agent.kind == "worker" and mode != BUILD:
        raise LoadoutRefused(f"a worker is started in the mode {BUILD} alone, and the mode is {said(mode)}")
    if more := sorted(agent.tools - tools_in(mode)):
        raise LoadoutRefused(f"the {agent.kind} asks for {', '.join(more)}, not allowed in the mode {said(mode)}")
    return agent.tools


def allowed(mode: str | None, held: frozenset[str]) -> Allowed:
    """What the holder of a loadout may do in the mode: the stricter of the two decides."""
    clear = mode == BUILD and not held <= READ_TOOLS
    return Allowed(mode=said(mode), tools=held & tools_in(mode), clear=clear)


def said(mode: str | None) -> str:
    """The mode's name for a sentence."""
    return mode if mode in MODES else "unknown" if mode is None else f"unknown ({quoted(mode, 40)})"


async def current_mode(source: ModeSource) -> str | None:
    """The parent's mode; None where it does not say one within MODE_S, or says something else."""
    try:
        async with asyncio.timeout(MODE_S):
            mode: object = await source()
    except TimeoutError:
        return None
    return mode if isinstance(mode, str) else None
