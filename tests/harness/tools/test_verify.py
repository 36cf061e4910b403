"""The eight tools on a real Chromium: what they tell, to the character, and what they keep to themselves."""

import asyncio
import http.server
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
import pytest_asyncio
from pydantic import JsonValue

from harness.config import load_settings
from harness.errors import OperationFailed
from harness.host.browsers import opened_browsers
from harness.host.pages import OwnerPage, OwnerPages, opened_pages
from harness.tools.modes import ALL_TOOLS, READ_TOOLS, Allowed
from harness.tools.verify import Told, VerifyTools, checked

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

BUILD = Allowed(mode="Build", tools=ALL_TOOLS, clear=True)
PLAN = Allowed(mode="Plan", tools=READ_TOOLS, clear=False)
PNG = b"\x89PNG\r\n\x1a\n"

PAGE = """<!doctype html><title>Desk</title><link rel=icon href=data:,>
<form onsubmit="said.textContent = `${mail.value} joined`; return false">
<label>Mail <input id=mail></label><button>Join</button></form><p id=said></p>
<a href="/other" target=_blank>Elsewhere</a>
<div style="height: 3000px"></div>
"""


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, who = self.path.partition("?")
        status = {"/broken": 500, "/moved": 302}.get(path, 200)
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "session=secret-cookie")
        self.send_header("X-Answer", "forty-two")
        if status == 302:
            host = self.headers["Host"]
            self.send_header("Location", f"http://ada:secret@{host}/other" if who else "/other")
        if path == "/file":
            self.send_header("Content-Disposition", "attachment")
        with suppress(OSError):  # whoever asked may be elsewhere by now
            self.end_headers()
            self.wfile.write(PAGE.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pages() -> AsyncIterator[OwnerPages]:
    async with opened_browsers(load_settings()) as browsers, opened_pages(browsers.make) as opened:
        opened.turn_on()
        yield opened


class Tools:
    """The tools for the parent."""

    def __init__(self, pages: OwnerPages) -> None:
        self._tools = VerifyTools(pages=pages)

    async def __call__(self, name: str, allowed: Allowed = BUILD, **params: JsonValue) -> Told:
        tool = f"browser_{name}"
        return await self._tools.run("parent", checked(tool, params), allowed)

    async def text(self, name: str, allowed: Allowed = BUILD, **params: JsonValue) -> str:
        return (await self(name, allowed, **params)).text

    async def refusal(self, name: str, **params: JsonValue) -> str:
        with pytest.raises(OperationFailed) as refused:
            await self(name, BUILD, **params)
        return refused.value.message


@pytest_asyncio.fixture(loop_scope="session")
async def tools(pages: OwnerPages) -> AsyncIterator[Tools]:
    yield Tools(pages)
    await pages.reap("parent")


VALUES = [
    ("6 * 7", "42"),
    ("'a\\u2028\"b'", '"a\u2028\\"b"'),
    ("() => 'called'", '"called"'),
    ("async () => 'awaited'", '"awaited"'),
    ("function named() { return 1 }", "1"),
    ("(() => { const a = 1; return a + 1 })()", "2"),
    ("Promise.resolve([1, { a: null }])", '[1,{"a":null}]'),
    ("document.title;", '"Desk"'),
    ("[undefined, () => 1, Symbol('s'), NaN, Infinity, -Infinity]", "[null,null,null,null,null,null]"),
    ("2n ** 70n", '"1180591620717411303424"'),
    ("document.body", '"ref: <Node>"'),
    ("({ nodeType: 1, nodeName: 'DIV' })", '{"nodeType":1,"nodeName":"DIV"}'),
    ("({ get bad() { throw 1 }, good: 1 })", '{"bad":null,"good":1}'),
    ("(() => { const a = { b: {} }; a.b.a = a; return a })()", '{"b":{"a":"[Circular]"}}'),
    ("(() => { const s = [1]; return [s, s] })()", "[[1],[1]]"),
    ("new Date(0)", '"1970-01-01T00:00:00.000Z"'),
    ("new Map([['a', new Set([1])]])", '{"[Map]":[["a",{"[Set]":[1]}]]}'),
    ("new TypeError('no')", '"TypeError: no"'),
    ("/x/g", '"/x/g"'),
    ("new Uint8Array([1, 2])", '{"[Uint8Array]":[1,2]}'),
    ("document.querySelectorAll('form')", '["ref: <Node>"]'),
    ("new (class Point { x = 1 })()", '{"x":1}'),
    ("Promise.resolve(Object.create(null))", "{}"),
    ("[new WeakMap()]", '["[WeakMap]"]'),
    ("'\\ud800'", '"\ufffd"'),
    ("alert('hi') ?? confirm('sure?')", "false"),
]


async def test_values_are_told_as_json(tools: Tools, address: str) -> None:
    await tools("goto", url=address)
    told = {expression: (await tools("eval", expression=expression)).text for expression, _ in VALUES}
    assert told == dict(VALUES)
    assert (await tools("eval", expression="[1]")).details == {"result": [1]}


async def test_code_that_is_no_expression_is_not_run_and_told_how_to_be_wrapped(tools: Tools) -> None:
    wrap = "it is not one JavaScript expression; wrap statements as (() => { ...; return value; })()"
    assert await tools.refusal("eval", expression="window.ran = 1; 2") == (
        f"{wrap} (\"SyntaxError: Unexpected token ';'\")"
    )
    assert (await tools.refusal("eval", expression="const a = 1")).startswith(wrap)
    for code in (
        "1); (window.ran = 1",
        "'x'.repeat(1e6)), (1e9",
        "1], [window.ran = 1",
        "...[window.ran = 1]",
        "1) => (2",
    ):
        assert (await tools.refusal("eval", expression=code)).startswith(wrap)
    assert await tools.text("eval", expression="window.ran") == "null"
    assert await tools.refusal("eval", expression="JSON.parse('{')") == (
        "it threw \"SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2)\""
    )
    assert (
        await tools.refusal("eval", expression="Promise.reject(new RangeError('far'))") == 'it threw "RangeError: far"'
    )
    assert (
        await tools.refusal("eval", expression="nowhere.at.all") == 'it threw "ReferenceError: nowhere is not defined"'
    )


async def test_a_page_that_writes_json_its_own_way_is_told_so(tools: Tools) -> None:
    for given in ("'['.repeat(800) + ']'.repeat(800)", "'1'.repeat(1e6)", "'NaN'"):
        code = f"(JSON.stringify = () => '{{\"value\":' + {given} + '}}', 0)"
        assert await tools.refusal("eval", expression=code) == "the page gave no value of the agreed form"


async def test_a_value_that_a_navigation_overtakes_is_not_waited_for(tools: Tools, address: str) -> None:
    await tools("goto", url=address)
    for there in ("about:blank", f"{address}/other"):
        code = f"location.assign('{there}'), new Promise(() => {{}})"
        assert await tools.refusal("eval", expression=code) == (
            "the page went to another document before the value was there"
        )


async def test_after_a_load_that_failed_the_next_calls_find_the_page_at_rest(tools: Tools, address: str) -> None:
    for n in range(5):
        refusal = await tools.refusal("goto", url="http://127.0.0.1:1/")
        assert refusal == "The page could not be loaded (net::ERR_UNSAFE_PORT)."
        assert await tools.text("eval", expression="location.protocol") == '"chrome-error:"'
        assert (await tools("goto", url=f"{address}/{n}")).details["status"] == 200
        assert await tools.text("eval", expression="location.pathname") == f'"/{n}"'


@pytest.mark.parametrize(
    "move", ["location.reload()", "location.href = '/own'", "setTimeout(() => location.reload(), 1)"]
)
async def test_a_page_that_moves_by_itself_breaks_no_load_off(tools: Tools, address: str, move: str) -> None:
    told = []
    for n in range(15):
        await tools("goto", url=address)
        await tools("eval", expression=f"({move}, 1)")
        told.append(((await tools("goto", url=f"{address}/{n}")).details, await tools.text("eval", expression="1")))
    assert told == [({"status": 200, "finalUrl": f"{address}/{n}"}, "1") for n in range(15)]


async def test_a_download_leaves_the_page_of_before(tools: Tools, address: str) -> None:
    await tools("goto", url=address)
    assert await tools.refusal("goto", url=f"{address}/file") == (
        "The address gave no page to show, as a download does; the page of before stays (net::ERR_ABORTED)."
    )
    assert await tools.text("eval", expression="document.title") == '"Desk"'


async def test_what_is_told_holds_no_password(tools: Tools, address: str) -> None:
    there = address.replace("//", "//ada:secret@")
    assert (await tools("goto", url=f"{there}/other")).details == {"status": 200, "finalUrl": f"{address}/other"}
    assert (await tools("goto", url=f"{address}/moved?ada")).details["finalUrl"] == f"{address}/other"
    names = ("X-Api-Token", "Private-Token", "X-Session-Id", "X-Password", "X-Amz-Signature", "Authentication")
    headers = orjson.dumps({name: "secret" for name in names}).decode()
    await tools("eval", expression=f"fetch('{address}/', {{ headers: {headers} }}).then(() => 1)")
    told = await tools("network", verbose=True, includeHeaders=[*names, "location"])
    assert f"  < location: {address}/other" in told.text.split("\n")
    assert told.text.count(": [redacted]") == len(names)
    assert ("secret" in told.text, "secret" in str(told.details)) == (False, False)


async def test_what_a_query_keeps_secret_is_not_told(tools: Tools, address: str) -> None:
    asked = f"{address}/other?page=2&access_token=secret&X-Amz-Signature=secret&api%5Fkey=secret#id_token=secret&at=1"
    kept = (
        f"{address}/other?page=2&access_token=[redacted]&X-Amz-Signature=[redacted]&api%5Fkey=[redacted]"
        "#id_token=[redacted]&at=1"
    )
    assert (await tools("goto", url=asked)).details == {"status": 200, "finalUrl": kept}
    await tools("eval", expression="(console.log('here'), fetch('/broken').then((answer) => answer.text()))")
    lines = (await tools.text("network", includeHeaders=["referer"])).split("\n")
    assert lines == [
        f"200 GET {kept.partition('#')[0]}",
        f"500 GET {address}/broken",
        f"  > referer: {kept.partition('#')[0]}",
    ]


async def test_goto_tells_status_and_final_address(tools: Tools, address: str) -> None:
    moved = await tools("goto", url=f"{address}/moved")
    assert (moved.text, moved.details) == (
        f'{{"status":200,"finalUrl":"{address}/other"}}',
        {"status": 200, "finalUrl": f"{address}/other"},
    )
    assert (await tools("goto", url=f"{address}/broken")).details["status"] == 500
    assert (await tools("goto", url=f"{address}/broken#there")).details["status"] == 0
    assert (
        await tools.refusal("goto", url="http://127.0.0.1:9") == "The page could not be loaded (net::ERR_UNSAFE_PORT)."
    )


async def test_a_form_is_filled_and_sent_by_text_role_and_css(tools: Tools, address: str) -> None:
    await tools("goto", url=address)
    filled = await tools("fill", selector="#mail", value="ada@a.test")
    clicked = await tools("click", selector="role=button[name='Join']")
    assert (filled.text, filled.details) == ("Filled #mail.", {"selector": "#mail"})
    assert (clicked.text, clicked.details) == (
        "Clicked role=button[name='Join'].",
        {"selector": "role=button[name='Join']"},
    )
    assert await tools.text("eval", expression="said.textContent") == '"ada@a.test joined"'
    assert (await tools("click", selector="css=#mail")).text == "Clicked css=#mail."
    assert await tools.refusal("click", selector="css= ") == "the selector css= names no css"
    assert await tools.refusal("click", selector="text= ") == "the selector text= names no text"
    assert await tools.refusal("click", selector="role=") == "the selector role= names no role"
    assert "strict mode violation" in await tools.refusal("click", selector="div, p")


async def test_a_window_that_the_page_opens_is_closed_and_told(tools: Tools, pages: OwnerPages, address: str) -> None:
    await tools("goto", url=address)
    await tools("console")
    await tools("click", selector="text=Elsewhere")
    await tools("eval", expression="new Promise((done) => setTimeout(done, 300))")
    lines = await tools.text("console")
    assert re.fullmatch(r"\[[^\]]*\] popup: closed the window \".*\": an owner has one page", lines)
    assert pages.owners() == ("parent",)


async def test_the_console_is_told_line_by_line(tools: Tools, address: str) -> None:
    assert await tools.text("console") == "(empty)"
    await tools("goto", url=address)
    code = """(() => {
      console.log("plain", 1, true, null, { a: 1 }, [1, 2], undefined);
      console.warn("two\\nlines");
      setTimeout(() => { throw new TypeError("late"); });
      return new Promise((done) => setTimeout(done, 100));
    })()"""
    await tools("eval", expression=code)
    told = await tools("console", clear=False)
    lines = [re.sub(r"^\[[0-9T:.-]+Z\]", "[time]", line) for line in told.text.split("\n")]
    assert [line.partition("  @ ")[0] for line in lines] == [
        "[time] log: plain 1 true null {a: 1} [1, 2] undefined",
        "[time] warning: two\\nlines",
        "[time] pageerror: TypeError: late",
    ]
    assert (await tools("console", PLAN)).text == told.text  # a restricted read clears nothing
    assert (await tools("console", filter="late", limit=1)).text.endswith(told.text.split("\n")[2])
    assert await tools("console") == Told(
        text="(empty)", details={"entries": [], "dropped": 0}
    )  # the rest was discarded


async def test_what_is_dropped_is_counted_and_a_read_has_a_bound(tools: Tools) -> None:
    await tools("eval", expression="(() => { for (let n = 0; n < 1500; n++) console.log('x'.repeat(300), n); })()")
    told = await tools("console", limit=1_000)
    lines = told.text.split("\n")
    entries = told.details["entries"]
    assert isinstance(entries, list)
    assert lines[0] == "[500 older entries were dropped unread]"
    assert lines[1] == f"[{1_000 - len(entries)} older entries left out: more than 163840 bytes]"
    assert (len(lines), lines[-1].endswith(" 1499"), told.details["dropped"]) == (len(entries) + 2, True, 500)


async def test_requests_are_told_with_curated_headers_and_no_secret(tools: Tools, address: str) -> None:
    await tools("goto", url=address)
    code = """async () => {
      const headers = { Authorization: "Bearer secret-token", "X-Mine": "shown", Prefer: "fast" };
      await (await fetch("/broken", { headers })).text();
      await fetch("http://127.0.0.1:1/").catch(() => {});
    }"""
    await tools("eval", expression=code)
    plain = await tools("network", clear=False)
    assert plain.text.split("\n") == [
        f"200 GET {address}/",
        f"500 GET {address}/broken",
        "ERR GET http://127.0.0.1:1/  (net::ERR_UNSAFE_PORT)",
    ]
    assert await tools.text("network", status=500, verbose=True, clear=False) == (
        f"500 GET {address}/broken\n  > authorization: [redacted]\n  > prefer: fast\n  < content-type: text/html"
    )
    named = await tools("network", status=500, includeHeaders=["Authorization", "x-mine", "set-cookie", "X-Answer"])
    assert named.text.split("\n")[1:3] == ["  > authorization: [redacted]", "  > x-mine: shown"]
    assert "x-answer: forty-two" in named.text
    for told in (plain, named):
        assert ("secret" in told.text, "secret" in str(told.details)) == (False, False)
    assert plain.details["entries"] == [
        {"method": "GET", "url": f"{address}/{path}", "status": status, "failure": None}
        for path, status in (("", 200), ("broken", 500))
    ] + [{"method": "GET", "url": "http://127.0.0.1:1/", "status": None, "failure": "net::ERR_UNSAFE_PORT"}]
    assert await tools.text("network") == "(empty)"


async def test_pages_are_pictured_at_the_same_time(pages: OwnerPages, address: str, tmp_path: Path) -> None:
    """A page behind another is not drawn, and its picture would never come."""
    opened = [(await pages.open(owner)).page for owner in ("parent", "child-1", "child-2", "child-3")]

    async def take(page: OwnerPage | None, number: int) -> None:
        assert page is not None
        await page.goto(address, 30_000)
        for _ in range(5):
            await page.screenshot(tmp_path / f"{number}.png", 30_000, full=False)

    await asyncio.gather(*(take(page, number) for number, page in enumerate(opened)))
    for owner in pages.owners():
        await pages.reap(owner)


async def test_a_screenshot_is_a_path_of_the_page_and_goes_with_it(tools: Tools, address: str) -> None:
    await tools("goto", url=address)
    window, whole = await tools("screenshot"), await tools("screenshot", fullPage=True)
    heights = []
    for told in (window, whole):
        data = Path(told.text).read_bytes()
        assert (data.startswith(PNG), told.details) == (True, {"path": told.text})
        heights.append(int.from_bytes(data[20:24], "big"))
    assert (heights[0], heights[1] > 3_000) == (720, True)

    await tools("eval", expression="document.body.style.cssText = 'width: 30000px; height: 200000px'")
    assert re.fullmatch(
        r"the page has 30\d{3} by 200\d{3} pixels, and a picture at most 100000000; take the window",
        await tools.refusal("screenshot", fullPage=True),
    )

    closed = await tools("close")
    assert (closed.text, closed.details) == ("Closed the page of parent.", {"closed": True, "owner": "parent"})
    assert not Path(window.text).exists()
    assert (await tools("close")).details == {"closed": False, "owner": "parent"}


async def test_a_page_that_was_written_is_not_blank(tools: Tools) -> None:
    await tools("eval", expression="document.write('<h1>Here</h1>')")
    told = await tools("screenshot", PLAN)
    assert Path(told.text).read_bytes().startswith(PNG)
    assert (await tools.text("console", PLAN)) == "(empty)"
