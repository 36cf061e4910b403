"""What the formatter `inline` keeps of the facts that the comparison with peers plants, and how long its text is."""

import pytest

from formatters.catalog import get
from formatters.render import render
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from tests.benchmarks.peers.pages import pages
from tests.benchmarks.peers.planted import PLANTED, kept

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("name", "most"), [("form", 3_300), ("500", 7_100)])
async def test_all_facts_in_so_few_characters(name: str, most: int, page: CurrentPage) -> None:
    asked = pages()[name]
    await page._page.set_content(asked.html)
    observation = await Tab(page).observe("ax", get("inline").filled, joined=True)
    rendering = render(observation, "inline")
    assert (kept(rendering.text, asked.facts), rendering.truncated) == (PLANTED, False)
    assert rendering.chars < most
