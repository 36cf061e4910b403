"""A text for a field that loses the focus, or can no longer be edited, before it comes: no other field gets it."""

from typing import TYPE_CHECKING

import pytest

from harness.drivers.real_page import RealPage
from observe.errors import DialogOpen, NotEditable

if TYPE_CHECKING:
    from tests.harness.drivers.conftest import Opened

pytestmark = pytest.mark.browser

PAGE = """<input id=x aria-label=F value=old><input id=y aria-label=G value=gg><iframe id=z srcdoc='<input>'></iframe>
<script>
const heard = [];
for (const kind of ['keydown', 'beforeinput', 'input', 'keyup'])
  document.addEventListener(kind, () => heard.push(kind), true);
const once = (kind, act, on = x) => on.addEventListener(kind, act, {once: true});
</script>"""

TOOK = "The element cannot be edited: the page took the focus from it."
KEPT = " The text was kept from the page."
ASTRAY = " Where the text went is not known."
DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(done))).then(() => '')"
STATE = "JSON.stringify([[...document.querySelectorAll('input')].map((each) => each.value), heard])"

MOVES = {
    "microtask": ("once('select', () => Promise.resolve().then(() => y.focus()))", TOOK + KEPT),
    "timer": ("once('focus', () => setTimeout(() => y.focus()))", TOOK + KEPT),
    "replaced": (
        "once('focus', () => setTimeout(() => { x.outerHTML = '<input aria-label=F value=old id=x>'; x.focus(); }))",
        TOOK + KEPT,
    ),
    "readonly": ("once('focus', () => setTimeout(() => { x.readOnly = true; }))", "cannot be edited: it is read-only."),
}


async def waiting(opened: "Opened", monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the check of a field and its text the page is drawn, which brings `select`, and its timers run."""
    ready = opened.page._selected_field  # type: ignore[attr-defined]

    async def and_then(*given: object) -> object:
        found = await ready(*given)
        await opened.evaluate(DRAWN)
        return found

    monkeypatch.setattr(opened.page, "_selected_field", and_then)


@pytest.mark.parametrize("text", ["new", ""])
@pytest.mark.parametrize("name", MOVES)
async def test_no_other_field_gets_it(name: str, text: str, opened: "Opened", monkeypatch: pytest.MonkeyPatch) -> None:
    script, said = MOVES[name]
    await opened.show(f"{PAGE}<script>{script}</script>")
    target = await opened.target("F")
    await waiting(opened, monkeypatch)
    with pytest.raises(NotEditable) as caught:
        await opened.page.type(target, text)
    assert said in caught.value.message
    assert caught.value.input_sent
    assert await opened.evaluate(STATE) == '[["old","gg"],[]]'


async def test_what_a_frame_may_have_got_is_told(opened: "Opened", monkeypatch: pytest.MonkeyPatch) -> None:
    await opened.show(f"{PAGE}<script>once('focus', () => setTimeout(() => z.contentWindow.focus()))</script>")
    target = await opened.target("F")
    await waiting(opened, monkeypatch)
    with pytest.raises(NotEditable) as caught:
        await opened.page.type(target, "new")
    assert (caught.value.message, caught.value.input_sent) == (TOOK + ASTRAY, True)
    assert await opened.evaluate(STATE) == '[["old","gg"],[]]'


async def test_a_field_that_hands_on_the_focus_after_its_text(opened: "Opened") -> None:
    await opened.show(f"{PAGE}<script>once('input', () => y.focus())</script>")
    assert await opened.page.type(await opened.target("F"), "new") == "new"
    assert await opened.evaluate(STATE) == '[["new","gg"],["beforeinput","input"]]'


ASKS = """<input id=x aria-label=F value=old><input id=y aria-label=G><input id=z type=date aria-label=H>
<script>const asks = (kind) => x.addEventListener(kind, () => confirm('?'), {once: true});</script>"""
FIELDS = "JSON.stringify([...document.querySelectorAll('input')].map((each) => each.value))"


@pytest.mark.parametrize(
    ("text", "kind", "held"),
    [
        ("new", "beforeinput", "new"),
        ("new", "input", "new"),
        ("", "keydown", ""),
        ("", "beforeinput", ""),
        ("", "input", ""),
        ("", "keyup", ""),
    ],
)
async def test_a_key_after_a_dialog_that_the_text_opened(text: str, kind: str, held: str, opened: "Opened") -> None:
    await opened.show(f"{ASKS}<script>asks('{kind}')</script>")
    assert await opened.page.type(await opened.target("F"), text) is None
    await opened.page.answer_dialog(True, None)
    await opened.evaluate("y.focus()")
    await opened.page.press_key("a")
    assert await opened.evaluate(FIELDS) == f'["{held}","a",""]'


async def before_its_text(opened: "Opened", monkeypatch: pytest.MonkeyPatch) -> None:
    """A dialog keeps a text from a field that is ready for it; it is answered, and another field has the focus."""
    page = opened.page
    assert isinstance(page, RealPage)
    await opened.show(f"{ASKS}<script>x.addEventListener('focus', () => setTimeout(() => confirm('?')))</script>")
    target = await opened.target("F")
    ready = page._selected_field

    async def and_a_dialog(*given: object) -> object:
        found = await ready(*given)  # type: ignore[arg-type]
        await page._dialogs.opened.wait()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(page, "_selected_field", and_a_dialog)
        with pytest.raises(DialogOpen):
            await page.type(target, "new")
    await page.answer_dialog(True, None)
    await opened.evaluate("y.focus()")


async def test_a_key_after_a_text_that_was_not_sent(opened: "Opened", monkeypatch: pytest.MonkeyPatch) -> None:
    await before_its_text(opened, monkeypatch)
    await opened.page.press_key("a")
    assert await opened.evaluate(FIELDS) == '["old","a",""]'


async def test_a_date_after_a_text_that_was_not_sent(opened: "Opened", monkeypatch: pytest.MonkeyPatch) -> None:
    await before_its_text(opened, monkeypatch)
    assert await opened.page.type(await opened.target("H"), "2024-02-29") == "2024-02-29"
    assert await opened.evaluate(FIELDS) == '["old","","2024-02-29"]'
