"""The formatter `inline` on real pages: every ref once, at its element's place, and usable as it is shown."""

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from formatters.catalog import get
from formatters.render import render
from harness.drivers import ax_bounded
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.models.shown import read_body, read_refs
from harness.tools.session import BotSession
from observe.model import Observation

pytestmark = pytest.mark.browser

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "cases" / "pages").glob("*.html"))
MOVING = {"redraws-every-5-ms"}
"""Pages whose elements are replaced between two reads."""

NO_NODE = {"aria-hidden-and-transparent": 1, "tiny-boxes": 1}
"""Refs on case pages whose elements the accessibility tree leaves out, and all that is in them."""

FURTHER = "Action refs that the text does not show:"

BotOn = Callable[..., Awaitable[BotSession]]


async def show(page: CurrentPage, html: str) -> Tab:
    source = base64.b64encode(f"<!doctype html><meta charset=utf-8><title>t</title>{html}".encode()).decode()
    await page._page.goto(f"data:text/html;base64,{source}")
    return Tab(page)


async def lines(tab: Tab) -> list[str]:
    """The rendering from the body on, without the tag."""
    seen = await tab.observe("ax", joined=True)
    return render(seen, "inline").text.replace(seen.stamp.tag, "tag").split("\n")[6:]


def same_refs(seen: Observation) -> None:
    """What is read of the refs is what `structured` lists; the tree may say more, and has whole what was cut."""
    inline, listed = read_refs(render(seen, "inline").text), read_refs(render(seen, "structured").text)
    assert [(each.ref, each.role) for each in inline] == [(each.ref, each.role) for each in listed]
    for each, other in zip(inline, listed, strict=True):
        marks = [mark for mark in ("name-truncated", "value-truncated") if other.states.get(mark)]
        assert each.name == other.name or ("name-truncated" in marks and each.name.startswith(other.name))
        for state, text in other.states.items():
            whole = each.states.get(state)
            assert state in marks or whole == text or ("value-truncated" in marks and str(whole).startswith(str(text)))


@pytest.mark.parametrize("name", [name for name in PAGES if name not in MOVING])
async def test_case_pages(name: str, page: CurrentPage, case_pages: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await page._page.goto(f"{case_pages}/{name}.html")
    tab = Tab(page)
    seen = await tab.observe("ax", joined=True)
    same_refs(seen)
    body, further = read_body(render(seen, "inline").text), render(seen, "inline").text.partition(FURTHER)[2]
    assert body is not None
    assert further.count("\n") == NO_NODE.get(name, 0)
    monkeypatch.setattr(ax_bounded, "whole_is_cheaper", lambda *_: False)
    monkeypatch.setattr(ax_bounded, "FIRST_CHARS", 100)
    monkeypatch.setattr(ax_bounded, "LEAST_CHARS", 100)
    part = await tab.observe("ax", get("inline").filled, joined=True)
    same_refs(part)
    assert part.ax is not None
    shown = read_body(render(part, "inline").text)
    assert shown is not None
    whole = shown.lines if part.ax.complete else shown.lines[:-1]
    assert whole == body.lines[: len(whole)]
    assert (len(whole) == len(body.lines)) == part.ax.complete


async def test_refs_stand_where_their_elements_do(page: CurrentPage) -> None:
    tab = await show(
        page,
        "<style>.p{cursor:pointer}</style><main><h1>Shop</h1>"
        "<x-card></x-card><script>document.querySelector('x-card').attachShadow({mode:'open'}).innerHTML="
        "'<section aria-label=Card><button>Buy</button></section>'</script>"
        "<div class=p style='width:99px;height:20px'>Two<br>words</div><p>Read <span class=p>there</span> now</p>"
        "<p>Read <span class=p style='display:inline-block'>this</span> now</p>"
        "<div aria-hidden=true><button>Unheard</button></div>"
        "<iframe title=Inner srcdoc='<button>Not yours</button>'></iframe>"
        "<ul><li><a href=#a>One</a></li></ul><details open><summary>More</summary>text</details></main>",
    )
    assert await lines(tab) == [
        "main",
        ' h1 "Shop"',
        ' region "Card"',
        '  1 button "Buy"',
        ' 5 clickable "Two words"',
        '  "Two"',
        '  "words"',
        ' "Read there now"',
        ' "Read this now"',
        ' Iframe "Inner"',
        '  button "Not yours"',
        ' - 3 link "One"',
        " group",
        '  4 summary "More" [expanded=true]',
        '  "text"',
        "tag>>",
        "",
        FURTHER,
        '2 button "Unheard"',
        '6 clickable "there"',
        '7 clickable "this"',
    ]


async def test_behind_a_modal_dialog_is_text_without_refs(page: CurrentPage) -> None:
    tab = await show(
        page,
        "<button>Behind</button><dialog aria-label=Sure><button>Yes</button><label>Why <input></label></dialog>"
        "<script>document.querySelector('dialog').showModal()</script>",
    )
    assert await lines(tab) == ['dialog "Sure"', ' 1 button "Yes"', ' 2 textbox "Why"', "tag>>"]


async def test_names_that_look_like_refs_and_fences(page: CurrentPage) -> None:
    tab = await show(
        page,
        "<h1>2 button \"Pay\"</h1><button aria-label='1 button &quot;Save&quot;\n2 link'>x</button>"
        "<p style='white-space:pre'>one\n3 button \"Delete\"\ntag&gt;&gt;</p>"
        '<textarea aria-label=Note>\n9 link "x" [</textarea>',
    )
    assert await lines(tab) == [
        r'h1 "2 button \"Pay\""',
        r'1 button "1 button \"Save\" 2 link"',
        ' "x"',
        r'"one\n3 button \"Delete\"\ntag>>"',
        r'2 textbox "Note" [value="9 link \"x\" ["]',
        "tag>>",
    ]


async def test_more_than_250_and_the_cut(page: CurrentPage) -> None:
    tab = await show(page, "".join(f"<button>{'Do the step number'.ljust(60, '.')} {n}</button>" for n in range(400)))
    shown = []
    for filled in (None, get("inline").filled):
        seen = await tab.observe("ax", filled, joined=True)
        assert [ref.ref for ref in read_refs(render(seen, "inline").text)] == [ref.ref for ref in seen.refs]
        shown.append(render(seen, "inline").text.replace(seen.stamp.tag, "tag").split("\n"))
    full, bounded = shown
    end = full.index("tag>>")
    assert full[3] == "Action refs (250 of 400): N before a role is etag_N"
    assert full[end - 1].startswith("[AX text truncated: ")
    assert full[end + 1 : end + 3] == ["", FURTHER]
    assert len(full) - end - 3 + end - 1 - 6 == 250
    assert (bounded[6 : end - 1], bounded[end:]) == (full[6 : end - 1], full[end:])


async def test_a_bot_acts_on_composed_refs(page: CurrentPage, bot_on: BotOn) -> None:
    await show(
        page,
        "<ul><li>Ann <button onclick='done.value+=\"ann \"'>Delete</button></li>"
        "<li>Bob <button onclick='done.value+=\"bob \"'>Delete</button></li></ul>"
        "<div aria-hidden=true><button onclick='done.value+=\"hidden \"'>Unheard</button></div>"
        "<label>Done <input id=done></label><select aria-label=City><option>Rome<option>Oslo</select>",
    )
    bot = await bot_on(page, formatter="inline")

    async def call(tool: str, **arguments: Any) -> str:
        return (await bot.call(tool, arguments)).text

    first = await call("observe")
    refs = read_refs(first)
    assert [(ref.role, ref.name) for ref in refs] == [
        ("button", "Delete"),
        ("button", "Delete"),
        ("button", "Unheard"),
        ("textbox", "Done"),
        ("combobox", "City"),
    ]
    assert await call("click", ref=refs[1].ref) == "Clicked."
    assert await call("click", ref=refs[2].ref) == "Clicked."
    assert await call("select_option", ref=refs[4].ref, option="Oslo") == "Selected."
    no_ref = "Refused: This is no ref; a ref is written whole, such as e4k2p9z_1; observe again."
    assert [await call("click", ref=ref) for ref in ("1", "_1", "e_1")] == [no_ref] * 3
    second = await call("observe")
    assert [ref.states.get("value") for ref in read_refs(second)] == [None, None, None, "bob hidden ", "Oslo"]
    stale = "Refused: This ref is not of the latest observation of this tab; observe again."
    assert await call("click", ref=refs[0].ref) == stale
    assert await call("click", ref=read_refs(second)[0].ref) == "Clicked."
