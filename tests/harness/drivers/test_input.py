"""Clicks, keys, text and files: what the page's own listeners see of them, with each real driver."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.drivers.real_page import RealPage
from harness.tools.bot import KEYS
from observe.errors import Covered, DialogOpen, NotClickable, NotEditable

if TYPE_CHECKING:
    from tests.harness.drivers.conftest import Opened

pytestmark = pytest.mark.browser

LOG = """<script>
const log = [];
const listen = (kinds) => { for (const kind of kinds) addEventListener(kind, (event) => log.push(
  [kind, event.target.id ?? '', event.isTrusted, event.inputType ?? event.code ?? event.detail ?? null]
  .concat('value' in event.target ? [event.target.value] : [])), true); };
</script>"""


async def logged(opened: "Opened") -> list[object]:
    """The page's events since its start."""
    found: list[object] = json.loads(str(await opened.evaluate("JSON.stringify(log)")))
    return found


# ---- where a click goes ----

WIDE = "style='display:block;width:300px;height:60px;text-align:center'"
FOOTER = "<div style='position:fixed;bottom:0;left:0;right:0;height:60px;background:#ccc'>footer</div>"
MOVING = (
    "<style>@keyframes go {from {transform: translateX(0)} to {transform: translateX(400px)}}"
    "#t {animation: go 0.3s linear both}</style>"
)
CLICKS = {
    "nested control at the centre": f"<div id=t role=button aria-label=T {WIDE}><button id=inner>inner</button></div>",
    "clipped by a scrolling box": (
        "<div style='height:50px;overflow:auto'><div style='height:60px'></div><button id=t aria-label=T>u</button>"
        "<div style='height:600px'></div></div>"
    ),
    "under a fixed footer": (
        f"<div style='height:685px'></div><button id=t aria-label=T>u</button><div style='height:900px'></div>{FOOTER}"
    ),
    "wrapped over two lines": (
        "<div style='width:220px;font:20px monospace'>aaaaaaaaaaaa <a id=t aria-label=T href='#x'>bbb bbbbbbbbbbbbb</a>"
        " ccc</div>"
    ),
    "covered at the centre": (
        "<button id=t aria-label=T style='width:200px;height:40px'>u</button>"
        "<div style='position:absolute;left:60px;top:0;width:100px;height:90px;background:red'>over</div>"
    ),
    "moving": f"{MOVING}<button id=t aria-label=T>u</button>",
    "in a shadow root": (
        "<div id=t></div><script>t.attachShadow({mode: 'open'}).innerHTML = '<button aria-label=T>u</button>'</script>"
    ),
    "transformed": (
        "<button id=t aria-label=T style='transform:rotate(45deg);margin:80px;width:120px;height:20px'>u</button>"
    ),
}


@pytest.mark.parametrize("name", CLICKS)
async def test_a_click_hits_the_element_alone(name: str, opened: "Opened") -> None:
    await opened.show(f"{CLICKS[name]}{LOG}<script>listen(['mousedown', 'mouseup', 'click'])</script>")
    await opened.page.click(await opened.target("T"))
    value = [""] if "<button id=t" in CLICKS[name] else []
    assert await logged(opened) == [[kind, "t", True, 1, *value] for kind in ("mousedown", "mouseup", "click")]


async def test_a_wholly_covered_element_is_not_clicked(opened: "Opened") -> None:
    over = "<div style='position:fixed;inset:0'></div>"
    await opened.show(f"<button aria-label=T>u</button>{over}{LOG}<script>listen(['mousedown', 'click'])</script>")
    target = await opened.target("T")
    with pytest.raises(Covered):
        await opened.page.click(target)
    assert await logged(opened) == []


# ---- a page that copies the stamp ----

COPYING = f"""<div><TAG id=decoy></TAG></div><TAG id=t aria-label=T></TAG>{LOG}<script>
const copy = () => {{ const mark = t.dataset.axtrialRef;
  if (mark !== undefined && decoy.dataset.axtrialRef !== mark) decoy.dataset.axtrialRef = mark; }};
new MutationObserver(copy).observe(document, {{subtree: true, attributes: true}});
</script>"""


async def test_a_copied_stamp_draws_no_click(opened: "Opened") -> None:
    await opened.show(COPYING.replace("TAG", "button") + "<script>listen(['mousedown', 'click'])</script>")
    await opened.page.click(await opened.target("T"))
    assert await logged(opened) == [["mousedown", "t", True, 1, ""], ["click", "t", True, 1, ""]]
    assert await opened.evaluate("decoy.dataset.axtrialRef === t.dataset.axtrialRef") is True


@pytest.mark.parametrize("tag", ["input", "textarea"])
async def test_a_copied_stamp_draws_no_text(tag: str, opened: "Opened") -> None:
    await opened.show(COPYING.replace("TAG", tag))
    assert await opened.page.type(await opened.target("T"), "words") == "words"
    assert await opened.evaluate("decoy.dataset.axtrialRef === t.dataset.axtrialRef") is True
    assert await opened.evaluate("[decoy.value, t.value].join()") == ",words"


# ---- text and keys ----

FIELDS = {
    "input": "<input id=t aria-label=T value=old>",
    "textarea": "<textarea id=t aria-label=T>old</textarea>",
    "number": "<input type=number id=t aria-label=T value=7>",
}


@pytest.mark.parametrize(("kind", "text"), [("input", "new"), ("textarea", "a b"), ("number", "12")])
async def test_typing_replaces_in_one_trusted_event(kind: str, text: str, opened: "Opened") -> None:
    kinds = "['keydown', 'beforeinput', 'input', 'change', 'keyup']"
    await opened.show(f"{FIELDS[kind]}{LOG}<script>listen({kinds})</script>")
    before = await opened.evaluate("t.value")
    assert await opened.page.type(await opened.target("T"), text) == text
    assert await logged(opened) == [
        ["beforeinput", "t", True, "insertText", before],
        ["input", "t", True, "insertText", text],
    ]


async def test_typing_nothing_is_one_key(opened: "Opened") -> None:
    kinds = "['keydown', 'beforeinput', 'input', 'change', 'keyup']"
    await opened.show(f"{FIELDS['input']}{LOG}<script>listen({kinds})</script>")
    assert await opened.page.type(await opened.target("T"), "") == ""
    assert await logged(opened) == [
        ["keydown", "t", True, "Delete", "old"],
        ["beforeinput", "t", True, "deleteContentForward", "old"],
        ["input", "t", True, "deleteContentForward", ""],
        ["keyup", "t", True, "Delete", ""],
    ]


async def test_typing_into_an_editable_host_replaces(opened: "Opened") -> None:
    await opened.show("<div id=t contenteditable aria-label=T>old <b>words</b></div>")
    assert await opened.page.type(await opened.target("T"), "new") == "new"
    assert await opened.evaluate("t.textContent") == "new"


async def test_every_printable_key_is_typed(opened: "Opened") -> None:
    keys = "".join(chr(code) for code in range(0x20, 0x7F))
    await opened.show("<input id=t autofocus>")
    await opened.evaluate("t.focus()")
    for key in keys:
        await opened.page.press_key(key)
    assert await opened.evaluate("t.value") == keys


NAMED = {
    "Enter": ("Enter", 13), "Escape": ("Escape", 27), "Tab": ("Tab", 9), "Backspace": ("Backspace", 8),
    "Delete": ("Delete", 46), "Space": ("Space", 32), "Home": ("Home", 36), "End": ("End", 35),
    "PageUp": ("PageUp", 33), "PageDown": ("PageDown", 34), "ArrowUp": ("ArrowUp", 38), "ArrowDown": ("ArrowDown", 40),
    "ArrowLeft": ("ArrowLeft", 37), "ArrowRight": ("ArrowRight", 39),
    **{f"F{number}": (f"F{number}", 111 + number) for number in range(1, 13)},
}  # fmt: skip
PAIRS = {
    "`~": ("Backquote", 192), "-_": ("Minus", 189), "=+": ("Equal", 187), "[{": ("BracketLeft", 219),
    "]}": ("BracketRight", 221), "\\|": ("Backslash", 220), ";:": ("Semicolon", 186), "'\"": ("Quote", 222),
    ",<": ("Comma", 188), ".>": ("Period", 190), "/?": ("Slash", 191), " ": ("Space", 32),
}  # fmt: skip
TYPED = {
    **{key: found for pair, found in PAIRS.items() for key in pair},
    **{key: (f"Digit{digit}", 48 + digit) for row in ("0123456789", ")!@#$%^&*(") for digit, key in enumerate(row)},
    **{key: (f"Key{key.upper()}", ord(key.upper())) for key in map(chr, [*range(65, 91), *range(97, 123)])},
}


def test_every_key_that_the_tool_takes_is_below() -> None:
    assert (set(NAMED), set(TYPED)) == (set(KEYS), set(map(chr, range(0x20, 0x7F))))


async def test_every_key_has_its_codes(opened: "Opened") -> None:
    """Key, code, key code and place of press and release; no key counts as held with another."""
    await opened.show("<input id=t>")
    await opened.evaluate(
        "globalThis.keys = []; for (const kind of ['keydown', 'keyup']) addEventListener(kind, (event) => {"
        " keys.push([kind, event.key, event.code, event.keyCode, event.location, event.isTrusted,"
        " event.shiftKey || event.ctrlKey || event.altKey || event.metaKey]);"
        " if (/^F\\d|Tab/.test(event.key)) event.preventDefault(); }, true); 0"
    )
    for key, (code, number) in (NAMED | TYPED).items():
        await opened.evaluate("t.focus()")
        await opened.page.press_key(key)
        named = " " if key == "Space" else key
        both = [[kind, named, code, number, 0, True, False] for kind in ("keydown", "keyup")]
        assert json.loads(str(await opened.evaluate("JSON.stringify(keys.splice(0))"))) == both


async def test_a_key_that_opens_a_dialog_is_released_after_its_answer(opened: "Opened") -> None:
    for key in ("F2", "!", "a"):
        await opened.show(f"<input id=t>{LOG}<script>listen(['keyup']); onkeydown = () => {{ confirm('?'); }}</script>")
        await opened.evaluate("t.focus()")
        await opened.page.press_key(key)
        assert opened.page.dialog is not None
        await opened.page.answer_dialog(True, None)
        assert len(await logged(opened)) == 1


# ---- files ----


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    path = tmp_path / "receipt.txt"
    path.write_text("paid")
    return path


CHOOSER = "<button aria-label=T onclick='f.click()'>u</button><input id=f type=file hidden>"


async def test_a_file_goes_to_the_chooser_that_a_click_opens(opened: "Opened", receipt: Path) -> None:
    await opened.show(CHOOSER)
    page = opened.page
    assert isinstance(page, RealPage)
    for _ in range(2):
        await page.upload(await opened.target("T"), receipt)
        assert await opened.evaluate("f.files[0].name") == "receipt.txt"
        assert page._cdp._handlers["Page.fileChooserOpened"] == []


async def test_a_click_that_opens_no_chooser(opened: "Opened", receipt: Path) -> None:
    await opened.show("<button aria-label=T onclick='document.title = 1'>u</button>")
    target = await opened.target("T")
    with pytest.raises(NotEditable) as refused:
        await opened.page.upload(target, receipt)
    assert (refused.value.message, refused.value.input_sent) == ("The element opens no file chooser.", True)
    assert await opened.evaluate("document.title") == "1"


@pytest.mark.timeout(15)
async def test_a_click_that_opens_a_confirm_and_no_chooser(opened: "Opened", receipt: Path) -> None:
    html = "<button aria-label=T onclick='if (confirm(1)) f.click()'>u</button><input id=f type=file hidden>"
    await opened.show(html)
    target = await opened.target("T")
    with pytest.raises(DialogOpen) as refused:
        await opened.page.upload(target, receipt)
    assert (refused.value.message, refused.value.input_sent) == (
        "The element opened a native confirm dialog and no file chooser; answer it with the tool dialog.",
        True,
    )
    await opened.page.answer_dialog(False, None)
    await opened.show(CHOOSER)
    await opened.page.upload(await opened.target("T"), receipt)
    assert await opened.evaluate("f.files[0].name") == "receipt.txt"


async def test_a_point_is_clicked_inside_the_window_only(opened: "Opened") -> None:
    at = "position:fixed;left:1200px;top:700px;width:80px;height:20px"
    await opened.show(f"{LOG}<button id=b style='{at}'>b</button><script>listen(['click'])</script>")
    await opened.page.click_at(1279.5, 719.5)
    for x, y in ((1280, 10), (10, 720), (-1, 10), (1e12, 1e12)):
        with pytest.raises(NotClickable) as refused:
            await opened.page.click_at(x, y)
        assert refused.value.message == "The point lies outside of the window, which has 1280 by 720 px."
    assert await logged(opened) == [["click", "b", True, 1, ""]]
