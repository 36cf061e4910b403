"""What our side of a native observation costs: everything but the native snapshot command and the DOM script.

Bound: on a 5,000-element page at most 5 % of the native command's time (median of 9 rounds, each timed in its parts).
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from formatters.render import render
from harness.config import load_settings
from harness.drivers.agent_browser import AgentHost
from harness.drivers.native_pin import NativeBinary
from harness.host.tab import Tab
from harness.targets.local import local

pytestmark = pytest.mark.browser

ROUNDS = 9
ELEMENTS = 5_000
ELEMENTS_PER_SECTION = 10
MOST_SHARE = 0.05


def section(number: int) -> str:
    """Ten elements below the section: headings, text, links, lists, buttons and fields."""
    return (
        f"<section><h2>Part {number}</h2><p>Some words on {number} and <a href='/parts/{number}'>link {number}</a>.</p>"
        f"<ul><li>first {number}</li><li><button>Act {number}</button></li></ul>"
        f"<label>Field {number} <input value='v{number}'></label></section>"
    )


Run = Callable[[Awaitable[object]], object]


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs coroutines one after another on one loop, as pytest-benchmark's rounds are plain functions."""
    with asyncio.Runner() as runner:

        async def awaited(work: Awaitable[object]) -> object:
            return await work

        yield lambda work: runner.run(awaited(work))


class Timed:
    """Adds up the time that a function's calls take, as long as the caller waits for them."""

    def __init__(self, call: Callable[..., Awaitable[Any]], wanted: str) -> None:
        self._call, self._wanted = call, wanted
        self.seconds = 0.0

    async def __call__(self, name: str, *arguments: Any, **fields: Any) -> Any:
        start = time.perf_counter()
        try:
            return await self._call(name, *arguments, **fields)
        finally:
            if name == self._wanted:
                self.seconds += time.perf_counter() - start


@pytest.fixture
def tab(run: Run, tmp_path: Path, native_binary: NativeBinary) -> Iterator[Tab]:
    """A large page, in a Chromium of its own."""
    stack = AsyncExitStack()

    async def opened() -> Tab:
        endpoint = await stack.enter_async_context(local(load_settings()))
        driver = await stack.enter_async_context(AgentHost(native_binary).attach(endpoint))
        file = tmp_path / "page.html"
        sections = "".join(map(section, range(ELEMENTS // ELEMENTS_PER_SECTION)))
        file.write_text(f"<!doctype html><meta charset=utf-8><title>Benchmark</title>{sections}")
        page = await driver.first_page()
        await page.navigate(file.as_uri())
        await page.settle()
        return Tab(page)

    made = run(opened())
    assert isinstance(made, Tab)
    yield made
    run(stack.aclose())


@pytest.mark.timeout(300)
@pytest.mark.benchmark(group="native observation")
def test_our_side_of_a_native_observation(
    tab: Tab, run: Run, benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    page: Any = tab.page
    native, dom = Timed(page._child._exchange, "snapshot"), Timed(page._script.call, "observe")
    monkeypatch.setattr(page._child, "_exchange", native)
    monkeypatch.setattr(page._script, "call", dom)
    rounds: list[tuple[float, float, float]] = []

    async def whole() -> None:
        native.seconds = dom.seconds = 0.0
        start = time.perf_counter()
        render(await tab.observe("ax"), "conservative")
        rounds.append((time.perf_counter() - start, native.seconds, dom.seconds))

    run(whole())
    rounds.clear()
    benchmark.pedantic(lambda: run(whole()), rounds=ROUNDS, iterations=1)  # type: ignore[no-untyped-call]
    ours = statistics.median(total - native - dom for total, native, dom in rounds)
    command = statistics.median(native for _, native, _ in rounds)
    benchmark.extra_info["native_ms"] = round(command * 1000, 2)
    benchmark.extra_info["dom_ms"] = round(statistics.median(dom for _, _, dom in rounds) * 1000, 2)
    benchmark.extra_info["ours_ms"] = round(ours * 1000, 2)
    benchmark.extra_info["ours_share"] = round(ours / command, 4)
    assert ours <= command * MOST_SHARE
