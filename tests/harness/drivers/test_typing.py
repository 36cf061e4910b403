"""A text for a field that loses the focus, or can no longer be edited, before it comes: no other field gets it."""

from typing import TYPE_CHECKING

import pytest

from observe.errors import NotEditable

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
    """Between the check of a field and its text the page's timers run."""
    ready = opened.page._selected_field  # type: ignore[attr-defined]

    async def and_then(*given: object) -> object:
        found = await ready(*given)
        await opened.evaluate("new Promise((done) => setTimeout(done, 20)).then(() => '')")
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
