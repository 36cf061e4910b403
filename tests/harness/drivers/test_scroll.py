"""Scrolls on pages that would have it otherwise: what went, and how much of it is told, with each real driver."""

from typing import TYPE_CHECKING

import pytest

from harness.drivers.real_page import RealPage

if TYPE_CHECKING:
    from tests.harness.drivers.conftest import Opened

pytestmark = pytest.mark.browser

TALL = "<style>* {margin: 0}</style><div style='height:3000px'>tall</div>"
BOX = (
    "<style>* {margin: 0} #box {height: 700px; overflow: auto}</style>"
    "<div id=box><div style='height:850px'>in</div></div><div style='height:2000px'>below</div>"
)
TOP = "document.scrollingElement.scrollTop"
BOTH = f"[{TOP}, box.scrollTop].join()"

ODD = {
    "plain": "",
    "smooth by its style": "<style>html {scroll-behavior: smooth}</style>",
    "with functions of its own": "<script>scrollBy = scroll = Element.prototype.scrollBy = () => {}</script>",
    "deaf to the wheel": "<script>for (const at of [window, document, document.body])"
    " at.addEventListener('wheel', (event) => event.preventDefault(), {passive: false})</script>",
    "under a frame": "<iframe srcdoc='<p style=height:3000px>x</p>' style='position:fixed;left:400px;top:200px;"
    "width:500px;height:300px'></iframe>",
    "under a fixed bar": "<div style='position:fixed;inset:200px;background:red'></div>",
    "whose body has the overflow": "<style>body {overflow-y: auto}</style>",
}


@pytest.mark.parametrize("name", ODD)
async def test_a_scroll_of_the_window(name: str, opened: "Opened") -> None:
    await opened.show(TALL + ODD[name])
    gone = [await opened.page.scroll(step) for step in (300, 5000, 100, -100, -5000, -100)]
    assert gone == [300, 1980, 0, -100, -2180, 0]
    assert await opened.evaluate(TOP) == 0


async def test_a_box_and_then_what_is_around_it(opened: "Opened") -> None:
    await opened.show(BOX)
    assert [await opened.page.scroll(step) for step in (100, 300, 300, -200)] == [100, 50, 300, -150]
    assert await opened.evaluate(BOTH) == "300,0"


async def test_a_box_that_keeps_the_wheel_to_itself(opened: "Opened") -> None:
    html = BOX.replace("overflow: auto", "overflow: auto; overscroll-behavior: contain; width: 700px")
    await opened.show(html)
    assert [await opened.page.scroll(step) for step in (200, 300)] == [150, 300]
    assert await opened.evaluate(BOTH) == "300,150"


async def test_a_box_that_counts_from_its_end(opened: "Opened") -> None:
    await opened.show(
        BOX.replace(
            "overflow: auto", "overflow: auto; display: flex; flex-direction: column-reverse} #box div {flex: none"
        )
    )
    assert [await opened.page.scroll(step) for step in (-100, -100, 300)] == [-100, -50, 150]
    assert await opened.evaluate(BOTH) == "0,0"


async def test_a_window_that_a_person_could_not_scroll(opened: "Opened") -> None:
    await opened.show(TALL + "<style>body {overflow: hidden}</style>")
    assert await opened.page.scroll(300) == 0
    assert await opened.evaluate(TOP) == 0


async def test_a_page_that_snaps(opened: "Opened") -> None:
    snap = "html {scroll-snap-type: y mandatory} * {margin: 0} div {height: 800px; scroll-snap-align: start}"
    await opened.show(f"<style>{snap}</style>" + "<div>a</div>" * 4)
    assert [await opened.page.scroll(600), await opened.evaluate(TOP)] == [800, 800]


async def test_a_page_that_goes_back(opened: "Opened") -> None:
    await opened.show(TALL + "<script>onscroll = () => scrollTo(0, 40)</script>")
    assert [await opened.page.scroll(600), await opened.evaluate(TOP)] == [40, 40]


async def test_a_scroll_that_opens_a_dialog(opened: "Opened") -> None:
    await opened.show(TALL + "<script>addEventListener('scroll', () => confirm('?'), {once: true})</script>")
    assert await opened.page.scroll(600) is None
    await opened.page.settle()
    assert opened.page.dialog is not None
    await opened.page.answer_dialog(True, None)
    assert await opened.evaluate(TOP) == 600


async def test_a_tab_behind_another_one(opened: "Opened") -> None:
    await opened.show(TALL)
    opener = "open('about:blank', '_blank', 'noopener')"
    await opened.evaluate(f"addEventListener('click', () => {opener}, {{once: true}}); 0")
    await opened.page.click_at(10, 10)
    assert await opened.page.scroll(600) == 600


async def test_only_the_wheel_of_the_scroll_is_kept_from_the_page(opened: "Opened") -> None:
    """Also where a dialog ended it early, a person's wheel is the page's again."""
    asks = "addEventListener('scroll', () => confirm('?'), {once: true})"
    await opened.show(f"{TALL}<script>onwheel = () => {{}}; {asks}</script>")
    await opened.page.scroll(600)
    await opened.page.settle()
    await opened.page.answer_dialog(True, None)
    page = opened.page
    assert isinstance(page, RealPage)
    await opened.evaluate("turned = new Promise((turn) => { onwheel = turn; }); 0")
    await page._cdp.send("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": 9, "y": 9, "deltaX": 0, "deltaY": 99})
    assert await opened.evaluate("turned.then((event) => event.deltaY)") == 99
