"""Reading on and finding on real long documents, with both drivers."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from formatters import structured
from formatters.catalog import get
from formatters.paging import Whole
from formatters.render import render
from harness.drivers.base import DriverPage
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.tools.answer import Answer
from harness.tools.session import BotSession
from observe.limits import MAX_AX_CHARS

pytestmark = pytest.mark.browser

BotOn = Callable[..., Awaitable[BotSession]]

ROWS = "".join(
    f"<li>Order {n}, to be paid <button onclick='document.title = {n}'>Pay</button><button>Print {n}</button></li>"
    for n in range(1, 501)
)
LONG = f"<title>Orders</title><main><h1>Orders</h1><ul>{ROWS}</ul></main>"
HOST = "<x-host></x-host><script>document.querySelector('x-host').attachShadow({mode: 'open'}).innerHTML = "

Show = Callable[[str], Awaitable[object]]


@pytest.fixture
def driver_page(opened: Any) -> DriverPage:
    page: DriverPage = opened.page
    return page


def body(answer: Answer) -> str:
    """The AX text, without the mark of a cut."""
    inside = answer.text.partition("\nAX text <<")[2].partition("\n")[2].rpartition(">>")[0].rpartition("\n")[0]
    return inside if not inside.endswith(" shown]") else inside.rpartition("\n")[0]


async def pages(bot: BotSession) -> list[Answer]:
    """All pages of the document, the refusal of the one behind them left out."""
    answers = [await bot.call("observe", {})]
    while answers[-1].text.rpartition("\n")[2].startswith("More: "):
        answers.append(await bot.call("observe", {"page": len(answers) + 1}))
    last = await bot.call("observe", {"page": len(answers) + 1})
    assert (last.outcome, last.text) == (
        "bad_call",
        f"Failed: there is no page {len(answers) + 1}, as the document ends before it.",
    )
    return answers


@pytest.mark.parametrize("formatter", ["conservative", "verbatim"])
async def test_the_pages_are_the_whole(opened: Any, driver_page: DriverPage, bot_on: BotOn, formatter: str) -> None:
    await opened.show(LONG)
    whole = get(formatter).function(await Tab(driver_page).observe("ax")).whole
    answers = await pages(await bot_on(driver_page, formatter, paging=True))
    assert len(answers) > 3
    assert "\n".join(map(body, answers)) == whole.text
    shown = [ref for answer in answers if answer.observation is not None for ref in answer.observation.refs]
    names = [name for n in range(1, 501) for name in ("Pay", f"Print {n}")]
    assert [ref.name for ref in shown] == names


async def test_a_control_beyond_the_refs_is_found_and_pressed(
    opened: Any, driver_page: DriverPage, bot_on: BotOn
) -> None:
    await opened.show(LONG)
    bot = await bot_on(driver_page, "conservative", paging=True)
    found = await bot.call("find", {"regex": r"\bOrder 433\b"})
    assert found.observation is not None
    assert [(ref.role, ref.name) for ref in found.observation.refs] == [("button", "Pay"), ("button", "Print 433")]
    assert "Order 433, to be paid" in body(found)
    assert (await bot.call("click", {"ref": found.observation.refs[0].ref})).text == "Clicked."
    assert await opened.evaluate("document.title") == "433"


async def test_the_next_refs_act(opened: Any, driver_page: DriverPage, bot_on: BotOn) -> None:
    await opened.show(LONG)
    bot = await bot_on(driver_page, "conservative", paging=True)
    await bot.call("observe", {})
    second = await bot.call("observe", {"page": 2})
    assert second.observation is not None
    assert "\nAction refs (251 to 500 of 1000):\n" in second.text
    assert (await bot.call("click", {"ref": second.observation.refs[0].ref})).text == "Clicked."
    assert await opened.evaluate("document.title") == "126"


async def test_a_document_that_was_replaced(driver_page: DriverPage, bot_on: BotOn, case_pages: str) -> None:
    address = {"url": f"{case_pages}/three-hundred-buttons.html"}
    bot = await bot_on(driver_page, "conservative", paging=True)
    calls: list[tuple[str, dict[str, Any]]]
    calls = [("open", address), ("observe", {}), ("open", address), ("observe", {"page": 2}), ("observe", {})]
    answers = [await bot.call(tool, arguments) for tool, arguments in calls]
    assert [answer.outcome for answer in answers] == ["ok", "ok", "ok", "document_replaced", "ok"]
    assert (await bot.call("observe", {"page": 2})).outcome == "ok"


async def test_a_document_that_grows(opened: Any, driver_page: DriverPage, bot_on: BotOn) -> None:
    told = "What stands before it changed since page 1 was shown"
    await opened.show(LONG)
    bot = await bot_on(driver_page, "conservative", paging=True)
    await bot.call("observe", {})
    await opened.evaluate("document.querySelector('main').append('the end')")
    assert told not in (await bot.call("observe", {"page": 2})).text
    await bot.call("observe", {})
    await opened.evaluate("document.querySelector('main').prepend('news')")
    assert told in (await bot.call("observe", {"page": 2})).text


async def test_open_shadow_roots_are_searched(opened: Any, driver_page: DriverPage, bot_on: BotOn) -> None:
    await opened.show(f"<title>t</title>{HOST}'<p>Hidden treasure</p><button>Dig</button>'</script>")
    bot = await bot_on(driver_page, "conservative", paging=True)
    assert "Hidden treasure" in body(await bot.call("find", {"text": "treasure"}))
    found = await bot.call("find", {"text": "dig"})
    assert found.observation is not None
    assert [ref.name for ref in found.observation.refs] == ["Dig"]


async def test_the_bounded_read_goes_on_as_the_full_one(page: CurrentPage) -> None:
    await page._page.set_content(f"<!doctype html>{LONG}")
    tab = Tab(page)
    full = (await tab.observe("ax")).ax
    assert full is not None
    assert full.nodes is not None
    whole = Whole(text=structured.compact(full.nodes).text, limit=MAX_AX_CHARS, label="AX text")
    for number in (1, 2, 3):
        observation = await tab.observe("ax", get("structured").filled, number)
        assert observation.ax is not None
        assert not observation.ax.complete
        shown, wanted = render(observation, "structured"), whole.page(number)
        assert wanted is not None
        text = wanted.bounded.text[: wanted.bounded.chars_shown]
        assert f"AX text <<{observation.stamp.tag}\n{text}\n[AX text truncated: " in shown.text
        assert shown.chars_shown == wanted.bounded.chars_shown
        count = f"{250 * number - 249} to {250 * number}" if number > 1 else "250"
        assert f"\nAction refs ({count} of {250 * number}+):\n" in shown.text
