"""What attacks on the observer and the actions have found: each page with what is right."""

import base64
import http.server
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from formatters.refs import ref_line
from harness.drivers.current_page import CurrentPage
from harness.host.tab import Tab
from harness.tools.session import BotSession
from observe.errors import PageGone, Refusal

pytestmark = pytest.mark.browser

BotOn = Callable[..., Awaitable[BotSession]]


async def show(page: CurrentPage, html: str) -> Tab:
    source = base64.b64encode(f"<!doctype html><meta charset=utf-8>{html}".encode()).decode()
    await page._page.goto(f"data:text/html;base64,{source}")
    return Tab(page)


LINES = {
    "date with a list": ("<input type=date list=d aria-label=D><datalist id=d>", ['textbox "D"']),
    "text with a list": ("<input list=d aria-label=D><datalist id=d>", ['combobox "D"']),
    "tabindex of minus zero": ("<p tabindex=-0>a</p><p tabindex='&nbsp;0'>b</p>", ['p "a"']),
    "color has no value": ("<input type=color aria-label=C>", ['input "C"']),
    "label with its own label": ("<label aria-label=AL for=q>txt</label><input id=q>", ['textbox "AL"']),
    "second summary": (
        "<details open><summary>1</summary><summary>2</summary></details>",
        ['summary "1" [expanded=true]', 'summary "2"'],
    ),
    "hidden child with a label": ("<button>Save<span hidden aria-label=Loading></span></button>", ['button "Save"']),
    "empty editors": (
        "<div contenteditable aria-label=a><br></div><div contenteditable aria-label=b><p><br></p></div>",
        ['textbox "a"', 'textbox "b"'],
    ),
    "controls in an editor": (
        "<div contenteditable aria-label=E><button>b</button><a href=#>l</a><i tabindex=0>i</i></div>",
        ['textbox "E" [value="bli"]', 'button "b"'],
    ),
    "words in a pointer label": (
        "<label style='cursor:pointer'><input type=checkbox><span>Terms</span></label>",
        ['checkbox "Terms" [checked=false]'],
    ),
    "modal below an inert ancestor": (
        "<div inert><button>bg</button><dialog id=d><button>A</button></dialog></div><script>d.showModal()</script>",
        ['button "A"'],
    ),
    "inert modal": (
        "<button>bg</button><dialog id=d inert><button>A</button></dialog><script>d.showModal()</script>",
        [],
    ),
    "white space of Unicode": ("<button aria-label='a&#xFEFF;b&#x3000;c'></button>", ['button "a\ufeffb c"']),
}


@pytest.mark.parametrize("name", LINES)
async def test_ref_lines(name: str, page: CurrentPage) -> None:
    html, expected = LINES[name]
    observation = await (await show(page, html)).observe("ax")
    assert [ref_line(ref).partition(" ")[2] for ref in observation.refs] == expected


FOOTER = "<div style='position:fixed;bottom:0;left:0;right:0;height:60px;background:#ccc'>footer</div>"
CLICKS = {
    "clipped by a scroll container": (
        "<div style='height:50px;overflow:auto'><div style='height:60px'></div>"
        "<button onclick='document.title=1'>u</button><div style='height:600px'></div></div>",
        "ok",
        "1",
    ),
    "under a fixed footer": (
        f"<div style='height:685px'></div><button onclick='document.title=1'>u</button>"
        f"<div style='height:900px'></div>{FOOTER}",
        "ok",
        "1",
    ),
    "mostly covered": (
        "<button style='width:200px;height:40px' onclick='document.title=1'>u</button>"
        "<div style='position:absolute;left:0;top:0;width:180px;height:90px;background:red'>over</div>",
        "ok",
        "1",
    ),
    "label with a link inside": (
        "<label style='display:block;width:300px'><input type=checkbox style='position:absolute;left:-999px'"
        " onchange='document.title=1'>I accept the"
        " <a href='#x' onclick='document.title=2'>terms and everything</a></label>",
        "ok",
        "1",
    ),
    "card with a button inside": (
        "<div role=button style='width:300px;height:60px;text-align:center' onclick='document.title=1'>"
        "<button style='width:80px;height:40px' onclick='event.stopPropagation();document.title=2'>Delete</button>"
        "</div>",
        "ok",
        "1",
    ),
}


@pytest.mark.parametrize("name", CLICKS)
async def test_clicks(name: str, page: CurrentPage) -> None:
    html, expected, title = CLICKS[name]
    tab = await show(page, html)
    observation = await tab.observe("ax")
    try:
        await page.click(await tab.target(observation.refs[0].ref))
        ended = "ok"
    except Refusal as refusal:
        ended = refusal.kind
    assert (ended, await page._page.evaluate("document.title")) == (expected, title)


TYPED = {
    "range beyond its end": ("<input type=range max=100>", "170", "ok", "100"),
    "range that is no number": ("<input type=range value=7>", "abc", "not_editable", "7"),
    "number that is none": ("<input type=number value=7>", "abc", "not_editable", "7"),
    "date that is none": ("<input type=date value=2026-01-02>", "tomorrow", "not_editable", "2026-01-02"),
    "time with seconds": ("<input type=datetime-local>", "2026-01-02T10:00:00", "ok", "2026-01-02T10:00"),
    "color that is none": ("<input type=color value='#112233'>", "red", "not_editable", "#112233"),
}


@pytest.mark.parametrize("name", TYPED)
async def test_typing(name: str, page: CurrentPage, bot_on: BotOn) -> None:
    html, text, expected, value = TYPED[name]
    await show(page, html)
    tools = await bot_on(page)
    seen = (await tools.call("observe", {})).observation
    assert seen is not None
    answer = await tools.call("type", {"ref": seen.refs[0].ref, "text": text})
    assert (answer.outcome, await page._page.evaluate("document.querySelector('input').value")) == (expected, value)


async def test_a_choice_that_opens_a_dialog_was_made(page: CurrentPage, bot_on: BotOn) -> None:
    html = "<select onchange='document.title=confirm(1)'><option>a<option>b</select>"
    await show(page, html)
    tools = await bot_on(page)
    seen = (await tools.call("observe", {})).observation
    assert seen is not None
    answer = await tools.call("select_option", {"ref": seen.refs[0].ref, "option": "b"})
    assert answer.text == 'Selected. The confirm dialog that is open says "1". Answer it with the tool dialog.'
    assert (await tools.call("dialog", {"accept": True})).text == "Accepted the dialog."
    assert await page._page.evaluate("document.title + document.querySelector('select').value") == "trueb"


async def test_a_second_dialog_is_told_when_the_first_is_answered(page: CurrentPage, bot_on: BotOn) -> None:
    await show(page, "<button onclick='confirm(1)+confirm(2)'>b</button>")
    tools = await bot_on(page)
    seen = (await tools.call("observe", {})).observation
    assert seen is not None
    await tools.call("click", {"ref": seen.refs[0].ref})
    answer = await tools.call("dialog", {"accept": True})
    assert answer.text == (
        'Accepted the dialog. The confirm dialog that is open says "2". Answer it with the tool dialog.'
    )
    assert tools.times.stages.ms["act"] < 5_000
    await tools.call("dialog", {"accept": False})


async def test_a_prompt_keeps_its_default(page: CurrentPage, bot_on: BotOn) -> None:
    html = "<button onclick=\"document.title=prompt('q', 'the default')\">b</button>"
    await show(page, html)
    tools = await bot_on(page)
    seen = (await tools.call("observe", {})).observation
    assert seen is not None
    await tools.call("click", {"ref": seen.refs[0].ref})
    await tools.call("dialog", {"accept": True})
    assert await page._page.evaluate("document.title") == "the default"


async def test_an_element_that_moved_into_a_frame_is_missing(page: CurrentPage) -> None:
    tab = await show(page, "<button id=b>b</button><iframe id=f></iframe>")
    observation = await tab.observe("ax")
    await page._page.evaluate("f.contentDocument.body.append(b)")
    target = await tab.target(observation.refs[0].ref)
    with pytest.raises(Refusal) as refused:
        await page.click(target)
    assert refused.value.kind == "missing_node"


async def test_a_crashed_page_is_gone_at_once(page: CurrentPage) -> None:
    tab = await show(page, "<button>b</button>")
    observation = await tab.observe("ax")
    crashed = page._page.wait_for_event("crash")
    page._page.context.set_default_timeout(10_000)
    session = await page._page.context.new_cdp_session(page._page)
    task = page._inputs.start(session.send("Page.crash"))
    await crashed
    with pytest.raises(PageGone):
        await tab.target(observation.refs[0].ref)
    with pytest.raises(PageGone):
        await page.navigate("about:blank")
    task.cancel()


@pytest.mark.parametrize("key", ["é", "😀"])
async def test_characters_of_other_keyboards(key: str, page: CurrentPage) -> None:
    tab = await show(page, "<input autofocus>")
    await page._page.focus("input")
    await page.press_key(key)
    assert await page._page.evaluate("document.querySelector('input').value") == key
    assert (await tab.observe("ax")).refs[0].state.value == key


async def test_the_only_file_field_may_stand_in_a_shadow_root(page: CurrentPage, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    script = "<script>h.attachShadow({mode: 'open'}).innerHTML = '<input type=file>'</script>"
    await show(page, f"<div id=h></div>{script}")
    await page.upload(None, file)
    assert await page._page.evaluate("h.shadowRoot.querySelector('input').files[0].name") == "a.txt"
    await show(page, f"<div id=h></div><input type=file>{script}")
    with pytest.raises(Refusal) as refused:
        await page.upload(None, file)
    assert refused.value.message == ("The element cannot be edited: the page has 2 file fields; name one by its ref.")


async def test_a_folder_field_is_refused_before_anything_is_sent(page: CurrentPage, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    await show(page, "<input type=file webkitdirectory>")
    with pytest.raises(Refusal) as refused:
        await page.upload(None, file)
    assert refused.value.message == "The element cannot be edited: it takes a folder."


class _Slow(http.server.BaseHTTPRequestHandler):
    """A page whose picture comes half a second late."""

    def do_GET(self) -> None:
        if self.path == "/late":
            threading.Event().wait(0.5)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>next</title><img src=/late>")

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


LEAVING = {
    "link": "<a href='{url}'>go</a>",
    "form": "<form action='{url}'><button>go</button></form>",
    "script": "<button onclick=\"setTimeout(() => location = '{url}', 20)\">go</button>",
}


@pytest.mark.parametrize("way", LEAVING)
async def test_an_action_that_leaves_the_page_waits_for_the_load(way: str, page: CurrentPage) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Slow) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        tab = await show(page, LEAVING[way].format(url=url))
        observation = await tab.observe("ax")
        await page.click(await tab.target(observation.refs[0].ref))
        await page.settle()
        state = await page._page.evaluate("[document.title, document.readyState]")
        server.shutdown()
        thread.join()
    assert state == ["next", "complete"]
