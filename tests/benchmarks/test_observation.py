"""What an observation costs beside its two bare reads, interleaved: each round times both, then the whole.

Bound: on a 500-element page the whole takes at most 1.5 times the bare reads together (median of 15 rounds).
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from formatters.render import render
from harness.config import load_settings
from harness.drivers import current
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.targets.local import local
from observe.capture import new_stamp

pytestmark = pytest.mark.browser

ROUNDS = 15
ELEMENTS_PER_SECTION = 10


def section(number: int) -> str:
    """Ten elements below the section: headings, text, links, lists, buttons and fields."""
    return (
        f"<section><h2>Part {number}</h2><p>Some words on {number} and <a href='/parts/{number}'>link {number}</a>.</p>"
        f"<ul><li>first {number}</li><li><button>Act {number}</button></li></ul>"
        f"<label>Field {number} <input value='v{number}'></label></section>"
    )


@pytest.fixture
def run() -> Iterator[Callable[[Awaitable[object]], object]]:
    """Runs coroutines one after another on one loop, as pytest-benchmark's rounds are plain functions."""
    with asyncio.Runner() as runner:

        async def awaited(work: Awaitable[object]) -> object:
            return await work

        yield lambda work: runner.run(awaited(work))


@pytest.fixture
def tab(run: Callable[[Awaitable[object]], object], tmp_path: Path) -> Iterator[Callable[[int], Tab]]:
    """Opens a page with about so many elements, in a Chromium of its own."""
    stack = AsyncExitStack()

    async def opened(elements: int) -> Tab:
        host = await stack.enter_async_context(current.start())
        endpoint = await stack.enter_async_context(local(load_settings()))
        driver = await stack.enter_async_context(host.attach(endpoint))
        file = tmp_path / "page.html"
        sections = "".join(map(section, range(elements // ELEMENTS_PER_SECTION)))
        file.write_text(f"<!doctype html><meta charset=utf-8><title>Benchmark</title>{sections}")
        page = await driver.first_page()
        await page.navigate(file.as_uri())
        await page.settle()
        return Tab(page)

    def open_tab(elements: int) -> Tab:
        made = run(opened(elements))
        assert isinstance(made, Tab)
        return made

    yield open_tab
    run(stack.aclose())


@pytest.mark.timeout(300)
@pytest.mark.parametrize("elements", [20, 500, 5_000])
@pytest.mark.benchmark(group="observation")
def test_observation_against_its_bare_reads(
    elements: int,
    tab: Callable[[int], Tab],
    run: Callable[[Awaitable[object]], object],
    benchmark: BenchmarkFixture,
) -> None:
    opened = tab(elements)
    page = opened.page
    assert isinstance(page, CurrentPage)
    bare: list[float] = []

    def bare_reads() -> None:
        start = time.perf_counter()
        run(page._cdp.send("Accessibility.getFullAXTree"))
        run(page._script.call("observe", new_stamp().nonce))
        bare.append(time.perf_counter() - start)

    async def whole() -> None:
        render(await opened.observe("ax"), "structured")

    run(whole())
    benchmark.pedantic(lambda: run(whole()), setup=bare_reads, rounds=ROUNDS, iterations=1)  # type: ignore[no-untyped-call]
    assert benchmark.stats is not None
    benchmark.extra_info["bare_ms"] = round(statistics.median(bare) * 1000, 2)
    benchmark.extra_info["ratio_to_bare_reads"] = round(benchmark.stats.stats.median / statistics.median(bare), 3)
