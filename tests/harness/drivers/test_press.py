"""A click on an element that is not the same any more once the mouse is there: its press never meets another one."""

import json
from typing import TYPE_CHECKING

import pytest

from harness.drivers import current_page
from harness.drivers.current_page import CurrentPage
from harness.drivers.real_page import RealPage
from observe.errors import ChangedElement, Covered, MissingNode, Refusal, TimedOut

if TYPE_CHECKING:
    from tests.harness.drivers.conftest import Opened

pytestmark = pytest.mark.browser

PAGE = """<style>button {position: absolute; left: 100px; top: 100px; width: 200px; height: 60px}</style>
<div id=box><button aria-label=T>t</button></div>
<script>
const log = [];
const swap = () => { box.innerHTML = '<button aria-label=T class=other>t</button>'; };
const rename = () => { document.querySelector('button').setAttribute('aria-label', 'U'); };
const cover = () => { box.insertAdjacentHTML('beforeend', '<div role=note style="position:fixed;inset:0"></div>'); };
const first = document.querySelector('button');
const once = (kind, act, on = window) => on.addEventListener(kind, act, {once: true, capture: true});
const kinds = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'];
const listen = () => { for (const kind of kinds) document.addEventListener(kind, (event) => log.push(
  [kind, event.target === first ? 'first' : event.target.className || event.target.nodeName]), true); };
</script>"""

ALL = [[kind, "first"] for kind in ("pointerdown", "mousedown", "pointerup", "mouseup", "click")]
MOVED = " Only the mouse was moved there; nothing was pressed."
KEPT = " The mouse was moved there, and its press was kept from the page."
MISSING = "The element is no longer in the page; observe again."
CHANGED = "The element's role, name or row is no longer what was shown; observe again."
COVERED = "The element is covered by another one (note); nothing was clicked."


FIRST = """const heard = []; for (const kind of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'])
  addEventListener(kind, () => heard.push(kind), true);"""


async def refused(opened: "Opened", script: str) -> Refusal:
    """How a click ends on the page with that script, which got no press of it."""
    await opened.show(f"{PAGE}<script>listen(); {script}</script>")
    target = await opened.target("T")
    with pytest.raises(Refusal) as caught:
        await opened.page.click(target)
    assert json.loads(str(await opened.evaluate("JSON.stringify(log)"))) == []
    return caught.value


HOVERS = {
    "swap": ("swap()", MissingNode, MISSING),
    "rename": ("rename()", ChangedElement, CHANGED),
    "cover": ("cover()", Covered, COVERED),
    "alert": ("alert(1); swap()", MissingNode, MISSING),
}


@pytest.mark.parametrize("name", HOVERS)
async def test_what_the_mouse_over_it_changed(name: str, opened: "Opened") -> None:
    script, kind, said = HOVERS[name]
    refusal = await refused(opened, f"once('mouseover', () => {{ {script} }}, first)")
    assert (type(refusal), refusal.message, refusal.input_sent) == (kind, said + MOVED, True)


def at_the_last_moment(opened: "Opened", monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Run a script in the page between the last check and the press."""
    page = opened.page
    assert isinstance(page, RealPage)
    call = page._script.call

    async def called(name: str, *arguments: object) -> object:
        answer = await call(name, *arguments)
        if name == "arm":
            await opened.evaluate(script)
        return answer

    monkeypatch.setattr(page._script, "call", called)


@pytest.mark.parametrize("name", ["swap", "rename", "cover"])
@pytest.mark.parametrize("rewritten", [False, True])
async def test_what_changed_after_the_last_check(
    name: str, rewritten: bool, opened: "Opened", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the page's first listener gets the press, nor that of a page which wrote itself anew."""
    script, kind, said = HOVERS[name]
    await opened.show(PAGE.replace("<script>", f"<script>{FIRST}"))
    if rewritten:
        source = json.dumps(PAGE.replace("<script>", f"<script>{FIRST}").replace("const ", "var "))
        await opened.evaluate(
            f"document.open(); document.write({source.replace('</', '<' + chr(92) + '/')}); document.close()"
        )
    target = await opened.target("T")
    at_the_last_moment(opened, monkeypatch, script)
    with pytest.raises(kind) as caught:
        await opened.page.click(target)
    assert (caught.value.message, caught.value.input_sent) == (said + KEPT, True)
    assert await opened.evaluate("JSON.stringify(heard)") == "[]"


async def test_a_confirm_in_between_holds_the_click_and_its_refusal(opened: "Opened") -> None:
    await opened.show(f"{PAGE}<script>listen(); once('mouseover', () => {{ confirm(1); swap(); }}, first)</script>")
    await opened.page.click(await opened.target("T"))
    assert opened.page.dialog is not None
    with pytest.raises(MissingNode) as caught:
        await opened.page.answer_dialog(True, None)
    held = "The dialog was answered, but the click that it had held up was refused. "
    assert (caught.value.message, caught.value.input_sent) == (held + MISSING + MOVED, True)
    assert await opened.evaluate("log.length") == 0


async def test_a_confirm_in_between_that_changes_nothing(opened: "Opened") -> None:
    await opened.show(f"{PAGE}<script>listen(); once('mouseover', () => {{ confirm(1); }}, first)</script>")
    await opened.page.click(await opened.target("T"))
    await opened.page.answer_dialog(True, None)
    assert json.loads(str(await opened.evaluate("JSON.stringify(log)"))) == ALL


async def test_a_press_that_was_kept_back_is_the_only_one(opened: "Opened", monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        at_the_last_moment(opened, patched, "swap()")
        await refused(opened, "")
    await opened.page.click_at(200, 130)
    assert json.loads(str(await opened.evaluate("JSON.stringify(log)"))) == [[kind, "other"] for kind, _ in ALL]
    await opened.page.click(await opened.target("T"))
    assert await opened.evaluate("log.length") == 10


@pytest.mark.parametrize("kind", ["pointerdown", "mousedown"])
async def test_what_the_press_itself_changes_is_the_pages_own_affair(kind: str, opened: "Opened") -> None:
    await opened.show(f"{PAGE}<script>listen(); once('{kind}', rename, first)</script>")
    await opened.page.click(await opened.target("T"))
    assert json.loads(str(await opened.evaluate("JSON.stringify(log)"))) == ALL


async def test_fifty_clicks_on_what_is_replaced_at_any_moment(opened: "Opened") -> None:
    """A replacement has no stamp. It comes 0 to 12 ms after the mouse, and with the next one the button is back."""
    await opened.show(
        f"{PAGE}<script>let turn = 0; const hits = [];"
        "const late = () => setTimeout(swap, turn++ % 25 / 2);"
        "const again = () => { box.innerHTML = '<button aria-label=T>t</button>'; once('mouseover', late, box); };"
        "for (const kind of kinds.slice(0, 2).concat('click')) addEventListener(kind, (event) => hits.push("
        "[kind, event.target.matches('button:not([data-axtrial-ref])')]), true); again();</script>"
    )
    refusals = 0
    for _ in range(50):
        await opened.page.click_at(5, 5)  # the mouse has to come over it anew
        await opened.evaluate("again()")
        target = await opened.target("T")
        try:
            await opened.page.click(target)
        except (MissingNode, ChangedElement):
            refusals += 1
    assert await opened.evaluate("hits.filter(([, other]) => other).length") == 0
    assert refusals > 0


async def test_a_page_that_keeps_the_mouse_waiting(page: CurrentPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_page, "INPUT_TIMEOUT_S", 0.5)
    await page.navigate("data:text/html,<style>*{margin:0}</style><p style='height:300px'>x</p>")
    await page._page.evaluate(
        "onmousemove = () => { for (const end = performance.now() + 2000; performance.now() < end;); }"
    )
    with pytest.raises(TimedOut) as caught:
        await page.click_at(10, 10)
    said = "The page took no input in time; only the mouse was moved, and nothing was pressed."
    assert (caught.value.message, caught.value.input_sent) == (said, True)
