"""A thousand observations in one attached session: open files, folders and memory stay as they are."""

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING

import psutil
import pytest

from formatters.render import render
from harness.drivers.native_pin import NativeBinary

if TYPE_CHECKING:
    from tests.faults.native.conftest import StartNative

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.timeout(1_800)]

WARM_UP = 100
OBSERVATIONS = 1_000
SAMPLES = 50
"""Sizes at the start and at the end are medians of so many, as the allocator's own moves are some percent."""

MOST_GROWTH = 1.10

PAGE = "data:text/html,<title>Soak</title>" + "".join(
    f"<section><h2>Part {n}</h2><p>Words {n}</p><a href='%23{n}'>Link {n}</a><button>Act {n}</button></section>"
    for n in range(50)
)


async def test_a_thousand_observations(
    native_binary: NativeBinary, start_native: "StartNative", record_property: Callable[[str, object], None]
) -> None:
    own = psutil.Process()
    sizes: list[int] = []
    async with start_native(native_binary) as native:
        tab = await native.show(await native.driver.first_page(), PAGE)
        child = psutil.Process(native.child())

        def held() -> tuple[int, int, list[str]]:
            return own.num_fds(), child.num_fds(), sorted(path.name for path in native.temp.iterdir())

        for _ in range(WARM_UP):
            render(await tab.observe("ax"), "conservative")
        before, child_begun = held(), child.memory_info().rss
        for _ in range(OBSERVATIONS):
            render(await tab.observe("ax"), "conservative")
            sizes.append(own.memory_info().rss)
        after, child_ended = held(), child.memory_info().rss
    begun, ended = statistics.median(sizes[:SAMPLES]), statistics.median(sizes[-SAMPLES:])
    record_property("own_bytes", (begun, ended))
    record_property("child_bytes", (child_begun, child_ended))
    assert before == after
    assert ended <= begun * MOST_GROWTH
