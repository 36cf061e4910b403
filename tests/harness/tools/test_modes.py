"""Which tools a mode gives, at the start of a child and at each call."""

import asyncio
from typing import Any

import pytest

from harness.tools import modes
from harness.tools.modes import ALL_TOOLS, READ_TOOLS, Agent, Allowed, LoadoutRefused, allowed, current_mode, loadout

RESTRICTED = ["Discuss", "Plan", "Review", "Design", "build", "BUILD", "", "Nothing known", None]


def test_build_gives_all_eight() -> None:
    assert len(ALL_TOOLS) == 8
    assert loadout(Agent(kind="worker"), "Build") == loadout(Agent(kind="explorer"), "Build") == ALL_TOOLS
    assert allowed("Build", ALL_TOOLS) == Allowed(mode="Build", tools=ALL_TOOLS, clear=True)


@pytest.mark.parametrize("mode", RESTRICTED)
def test_every_other_mode_gives_three_that_read_and_clear_nothing(mode: str | None) -> None:
    assert loadout(Agent(kind="explorer", tools=READ_TOOLS), mode) == READ_TOOLS
    now = allowed(mode, ALL_TOOLS)
    assert (now.tools, now.clear) == (READ_TOOLS, False)


def test_a_restricted_child_stays_restricted_in_build() -> None:
    assert allowed("Build", READ_TOOLS) == Allowed(mode="Build", tools=READ_TOOLS, clear=False)


@pytest.mark.parametrize(
    ("agent", "mode", "said"),
    [
        (Agent(kind="explorer", tools=None), "Build", "the explorer names no tools, so it is not started"),
        (Agent(kind="worker"), "Plan", "a worker is started in the mode Build alone, and the mode is Plan"),
        (
            Agent(kind="worker", tools=READ_TOOLS),
            None,
            "a worker is started in the mode Build alone, and the mode is unknown",
        ),
        (
            Agent(kind="explorer", tools=READ_TOOLS | {"browser_goto", "browser_eval"}),
            "Design",
            "the explorer asks for browser_eval, browser_goto, not allowed in the mode Design",
        ),
        (
            Agent(kind="explorer", tools=frozenset({"bash"})),
            "Build",
            "the explorer asks for bash, not allowed in the mode Build",
        ),
        (
            Agent(kind="explorer"),
            "Root\n" + "x" * 100,
            "the explorer asks for browser_click, browser_close, browser_eval, browser_fill, browser_goto, not allowed "
            'in the mode unknown ("Root\\n' + "x" * 35 + '"...)',
        ),
    ],
)
def test_an_agent_that_asks_for_more_is_not_started(agent: Agent, mode: str | None, said: str) -> None:
    with pytest.raises(LoadoutRefused) as refused:
        loadout(agent, mode)
    assert refused.value.message == said


async def test_a_parent_that_does_not_say_its_mode_in_time_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "MODE_S", 0.05)

    async def never() -> str:
        await asyncio.Event().wait()
        return "Build"

    async def at_once() -> str:
        return "Build"

    assert (await current_mode(never), await current_mode(at_once)) == (None, "Build")


@pytest.mark.parametrize("mode", [None, 7, ["Build"], b"Build"])
async def test_a_mode_that_is_no_text_is_none(mode: Any) -> None:
    async def source() -> Any:
        return mode

    assert await current_mode(source) is None
