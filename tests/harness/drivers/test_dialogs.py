"""Dialogs that open in the middle of input, and behind one another, with each real driver."""

from typing import TYPE_CHECKING

import pytest

from harness.drivers.base import Dialog

if TYPE_CHECKING:
    from tests.harness.drivers.conftest import Opened

pytestmark = pytest.mark.browser

PAGE = """<button aria-label=T id=t style='width:200px;height:60px'>u</button><script>
const note = (word) => { document.title += word + '-'; };
for (const kind of ['mousedown', 'mouseup', 'click']) t.addEventListener(kind, () => note(kind));
t.addEventListener('KIND', () => { SCRIPT });
</script>"""

CASES = {
    "alert and confirm": ("click", "alert('a'); note(confirm('b'))", ["b"], ["a"], "mousedown mouseup click true"),
    "confirm and alert": ("click", "note(confirm('a')); alert('b')", ["a"], ["b"], "mousedown mouseup click true"),
    "three confirms": (
        "click",
        "note(confirm('a')); note(confirm('b')); note(confirm('c'))",
        ["a", "b", "c"],
        [],
        "mousedown mouseup click true true true",
    ),
    "confirm at the press": ("mousedown", "note(confirm('a'))", ["a"], [], "mousedown true mouseup click"),
    "alert at the press": ("mousedown", "alert('a')", [], ["a"], "mousedown mouseup click"),
    "alert and confirm at the press": (
        "mousedown",
        "alert('a'); note(confirm('b'))",
        ["b"],
        ["a"],
        "mousedown true mouseup click",
    ),
    "two confirms at the press": (
        "mousedown",
        "note(confirm('a')); note(confirm('b'))",
        ["a", "b"],
        [],
        "mousedown true true mouseup click",
    ),
    "confirm at the release": ("mouseup", "note(confirm('a'))", ["a"], [], "mousedown mouseup true click"),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_click_through_dialogs(name: str, opened: "Opened") -> None:
    kind, script, confirms, alerts, title = CASES[name]
    await opened.show(PAGE.replace("KIND", kind).replace("SCRIPT", script))
    page = opened.page
    await page.click(await opened.target("T"))
    await page.settle()
    for message in confirms:
        assert page.dialog == Dialog(kind="confirm", message=message)
        await page.answer_dialog(True, None)
        await page.settle()
    assert page.dialog is None
    assert page.take_alerts() == tuple(Dialog(kind="alert", message=message) for message in alerts)
    assert await opened.evaluate("document.title") == title.replace(" ", "-") + "-"


async def test_alerts_between_press_and_release(opened: "Opened") -> None:
    # A release that comes while such an alert is open is lost in Chrome itself, as that of a person's mouse is.
    script = "setTimeout(() => { for (const n of [1, 2, 3, 4, 5]) alert(n); note('told'); })"
    await opened.show(PAGE.replace("KIND", "mousedown").replace("SCRIPT", script))
    for _ in range(5):
        await opened.page.click(await opened.target("T"))
        await opened.page.settle()
    words = str(await opened.evaluate("document.title")).strip("-").split("-")
    assert [words.count("mousedown"), words.count("told")] == [5, 5]
    assert opened.page.take_alerts() == tuple(Dialog(kind="alert", message=n) for n in "12345") * 5


async def test_alerts_without_end(opened: "Opened") -> None:
    await opened.show("<button aria-label=T>u</button><input><script>setInterval(() => alert('again'), 20)</script>")
    for _ in range(3):
        await opened.page.click(await opened.target("T"))
        await opened.page.press_key("Tab")
        await opened.page.settle()
    assert set(opened.page.take_alerts()) == {Dialog(kind="alert", message="again")}


async def test_typing_that_opens_a_confirm(opened: "Opened") -> None:
    await opened.show("<input aria-label=T oninput='document.title = confirm(value)'>")
    assert await opened.page.type(await opened.target("T"), "x") is None
    assert opened.page.dialog == Dialog(kind="confirm", message="x")
    await opened.page.answer_dialog(False, None)
    await opened.page.settle()
    assert await opened.evaluate("document.title") == "false"
