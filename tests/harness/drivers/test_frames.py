"""Child frames joined in place: same process, nested, of other processes, and those that cannot be read."""

import asyncio
import http.server
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from harness.config import load_settings
from harness.drivers import agent_page, current
from harness.drivers.agent_browser import AgentHost
from harness.drivers.agent_frames import frames_in_frames
from harness.drivers.agent_page import AgentPage
from harness.drivers.agent_queue import Bounds
from harness.drivers.current import CurrentDriver
from harness.drivers.native_pin import NativeBinary
from harness.host.tab import Tab
from harness.targets.local import local
from observe.errors import PageGone, TimedOut

pytestmark = pytest.mark.browser

Serve = Callable[[dict[str, str]], tuple[str, str]]


@contextmanager
def _serving(pages: dict[str, str], moment: "Moment | None" = None) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.strip("/").partition("?")[0]
            if moment is not None and not moment.answers(path):
                return
            body = pages.get(path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((body or "").replace("{port}", str(server.server_port)).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Tests print nothing of their own."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def isolating_driver() -> AsyncIterator[CurrentDriver]:
    """A Chromium that puts each site into a process of its own."""
    async with (
        current.start() as host,
        local(load_settings(), flags=("--site-per-process",)) as endpoint,
        host.attach(endpoint) as driver,
    ):
        yield driver


async def ax_text(driver: CurrentDriver, pages: dict[str, str]) -> str:
    with _serving(pages) as port:
        page = await driver.fresh_page()
        await page.navigate(f"http://127.0.0.1:{port}/top")
        await page.settle()
        observation = await Tab(page).observe("ax")
        await page.leave()
    assert observation.ax is not None
    return observation.ax.text


OTHER = "http://localhost:{port}"
"""Another site than 127.0.0.1, so another process."""


async def test_frame_of_another_process_with_one_inside_it(isolating_driver: CurrentDriver) -> None:
    pages = {
        "top": f"<h1>Top</h1><iframe title=a src='{OTHER}/a'></iframe><p>After</p>",
        "a": "<p>In a</p><iframe title=b src='http://127.0.0.1:{port}/b'></iframe><button>Last of a</button>",
        "b": f"<p>In b</p><iframe title=c src='{OTHER}/c'></iframe>",
        "c": "<button>Deepest</button>",
    }
    assert await ax_text(isolating_driver, pages) == (
        '- heading "Top" [level=1]\n'
        '- Iframe "a"\n'
        "  - paragraph\n"
        '    - StaticText "In a"\n'
        '  - Iframe "b"\n'
        "    - paragraph\n"
        '      - StaticText "In b"\n'
        '    - Iframe "c"\n'
        '      - button "Deepest"\n'
        '  - button "Last of a"\n'
        "- paragraph\n"
        '  - StaticText "After"'
    )


async def test_equal_cross_site_frames_keep_their_places(isolating_driver: CurrentDriver) -> None:
    pages = {
        "top": f"<iframe title=one src='{OTHER}/x?1'></iframe><p>between</p>"
        f"<iframe title=two src='{OTHER}/x?2'></iframe>",
        "x": "<button id=n></button><script>n.textContent = 'Button ' + location.search[1]</script>",
    }
    assert await ax_text(isolating_driver, pages) == (
        '- Iframe "one"\n  - button "Button 1"\n'
        '- paragraph\n  - StaticText "between"\n'
        '- Iframe "two"\n  - button "Button 2"'
    )


async def test_same_process_frames_nested(isolating_driver: CurrentDriver) -> None:
    pages = {
        "top": "<iframe title=a src=/a></iframe>",
        "a": "<p>one</p><iframe title=b src=/b></iframe>",
        "b": "<p>two</p><iframe title=c srcdoc='<p>three</p>'></iframe>",
    }
    assert await ax_text(isolating_driver, pages) == (
        '- Iframe "a"\n'
        "  - paragraph\n"
        '    - StaticText "one"\n'
        '  - Iframe "b"\n'
        "    - paragraph\n"
        '      - StaticText "two"\n'
        '    - Iframe "c"\n'
        "      - paragraph\n"
        '        - StaticText "three"'
    )


async def test_presentational_frame_and_frame_in_open_shadow_root(isolating_driver: CurrentDriver) -> None:
    pages = {
        "top": f"<iframe role=presentation src='{OTHER}/pay'></iframe><div id=h></div>"
        "<script>h.attachShadow({mode: 'open'}).innerHTML ="
        " '<iframe title=s srcdoc=\"<p>shadowed</p>\"></iframe>'</script>",
        "pay": "<label>Card <input></label>",
    }
    text = await ax_text(isolating_driver, pages)
    assert 'textbox "Card"' in text
    assert 'StaticText "shadowed"' in text


async def test_frame_that_refuses_to_load_is_no_error(isolating_driver: CurrentDriver) -> None:
    pages = {"top": "<p>here</p><iframe title=gone src='http://127.0.0.1:1/'></iframe>"}
    text = await ax_text(isolating_driver, pages)
    assert text.startswith('- paragraph\n  - StaticText "here"\n- Iframe "gone"')


async def test_frame_that_contains_itself_and_many_frames(isolating_driver: CurrentDriver) -> None:
    frames = "".join(f"<iframe title=f{n} srcdoc='<p>frame {n}</p>'></iframe>" for n in range(60))
    pages = {"top": f"<iframe title=self src='#'></iframe>{frames}"}
    text = await ax_text(isolating_driver, pages)
    assert (
        text.count("FrameNotRead") == 2 * (1 + 60) - 50
    )  # the frame that holds the page holds all its frames once more
    assert 'StaticText "frame 0"' in text


NESTED = {
    "top": f"<iframe src='{OTHER}/a'></iframe><iframe src=/l></iframe><iframe srcdoc='near'></iframe>",
    "a": "<iframe srcdoc='1'></iframe><iframe src='http://127.0.0.1:{port}/b'></iframe>",
    "b": "<iframe srcdoc='2'></iframe>",
    "l": f"<iframe src='{OTHER}/c'></iframe><iframe srcdoc='3'></iframe>",
    "c": "<iframe srcdoc='<iframe></iframe>'></iframe>",
}
"""In `top` three frames. Inside of them: two in a, one in b, two in l, one in c, and one inside of that."""


async def test_what_the_native_child_leaves_out_is_counted_in_every_process(native_binary: NativeBinary) -> None:
    async with (
        local(load_settings(), flags=("--site-per-process",)) as endpoint,
        AgentHost(native_binary).attach(endpoint) as driver,
    ):
        page = await driver.first_page()
        with _serving(NESTED) as port:
            await page.navigate(f"http://127.0.0.1:{port}/top")
            await page.settle()
            texts = [(await page.read_ax()).text for _ in range(2)]
        targets = await page._browser.send("Target.getTargets", {"filter": [{"type": "iframe"}]})
    assert len(targets["targetInfos"]) == 3
    assert [text.split("\n").count("- FrameNotRead") for text in texts] == [7, 7]


STUCK = {
    "top": f"<title>top</title><iframe src='{OTHER}/stuck'></iframe>",
    "stuck": """<script>(async () => {
  await fetch('/go')
  const request = new XMLHttpRequest()
  request.open('GET', '/never', false)
  request.send()
})()</script>""",
    "other": "<p>here</p>",
}
"""The frame of another process stands still, by a script that waits, from the moment on in which the server lets it."""


class Moment:
    """When the server lets the frame go on, and that the frame stands still since."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.stuck = threading.Event()
        self.over = threading.Event()

    def answers(self, path: str) -> bool:
        if path == "go":
            return self.go.wait() and not self.over.is_set()
        if path == "never":
            self.stuck.set()
            self.over.wait()
        return path != "never"

    async def begin(self) -> None:
        self.go.set()
        await asyncio.to_thread(self.stuck.wait)

    def end(self) -> None:
        self.over.set()
        self.go.set()


@dataclass(frozen=True)
class Stuck:
    """`page` shows a frame that stands still from `moment` on; `other` is another bot's."""

    page: AgentPage
    other: AgentPage
    moment: Moment
    address: str

    async def assert_other_unharmed(self) -> None:
        await self.other.navigate(f"{self.address}/other")
        assert (await self.other.read_ax()).text == '- paragraph\n  - StaticText "here"'


@pytest_asyncio.fixture
async def stuck(native_binary: NativeBinary) -> AsyncIterator[Stuck]:
    moment = Moment()
    async with (
        local(load_settings(), flags=("--site-per-process",)) as endpoint,
        AgentHost(native_binary).attach(endpoint) as driver,
    ):
        page, other = await driver.first_page(), await driver.new_page()
        with _serving(STUCK, moment) as port:
            try:
                await page.navigate(f"http://127.0.0.1:{port}/top")
                frames = await page._browser.send("Target.getTargets", {"filter": [{"type": "iframe"}]})
                assert len(frames["targetInfos"]) == 1
                yield Stuck(page, other, moment, f"http://127.0.0.1:{port}")
            finally:
                moment.end()


async def test_the_native_child_is_not_asked_for_a_frame_that_hangs(stuck: Stuck) -> None:
    await stuck.moment.begin()
    with pytest.raises(TimedOut) as caught:
        await stuck.page.read_ax()
    assert (caught.value.message, caught.value.input_sent) == ("The page did not answer in time.", None)
    await stuck.assert_other_unharmed()


async def test_a_frame_that_hangs_in_the_middle_of_a_native_snapshot_costs_its_tab(
    stuck: Stuck, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answered_and_hung(*given: Any) -> int:
        unread = await frames_in_frames(*given)
        await stuck.moment.begin()
        return unread

    monkeypatch.setattr(agent_page, "frames_in_frames", answered_and_hung)
    began = time.monotonic()
    with pytest.raises(PageGone) as caught:
        await stuck.page.read_ax()
    took_s = time.monotonic() - began
    monkeypatch.undo()
    assert (caught.value.message, caught.value.input_sent) == (agent_page.HELD_UP, None)
    assert took_s < Bounds().snapshot_s
    await stuck.assert_other_unharmed()
