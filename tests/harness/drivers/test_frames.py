"""Child frames joined in place: same process, nested, of other processes, and those that cannot be read."""

import http.server
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio

from harness.config import load_settings
from harness.drivers import current
from harness.drivers.agent_browser import AgentHost
from harness.drivers.agent_page import AgentPage
from harness.drivers.current import CurrentDriver
from harness.drivers.native_pin import NativeBinary
from harness.host.tab import Tab
from harness.targets.local import local
from observe.errors import TimedOut

pytestmark = pytest.mark.browser

Serve = Callable[[dict[str, str]], tuple[str, str]]


@contextmanager
def _serving(pages: dict[str, str]) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path.strip("/").partition("?")[0])
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


async def read_without_end(page: AgentPage) -> None:
    """The frame begins to hang a moment after it has loaded."""
    while True:
        await page.read_ax()


async def test_a_frame_that_hangs_is_not_waited_for_by_the_native_child(native_binary: NativeBinary) -> None:
    pages = {
        "top": f"<title>top</title><iframe src='{OTHER}/hangs'></iframe>",
        "hangs": "<script>onload = () => setTimeout(() => { while (true); }, 500)</script>",
        "other": "<p>here</p>",
    }
    async with (
        local(load_settings(), flags=("--site-per-process",)) as endpoint,
        AgentHost(native_binary).attach(endpoint) as driver,
    ):
        page, other = await driver.first_page(), await driver.new_page()
        with _serving(pages) as port:
            await page.navigate(f"http://127.0.0.1:{port}/top")
            frames = await page._browser.send("Target.getTargets", {"filter": [{"type": "iframe"}]})
            assert len(frames["targetInfos"]) == 1
            with pytest.raises(TimedOut) as caught:
                await read_without_end(page)
            assert (caught.value.message, caught.value.input_sent) == ("The page did not answer in time.", None)
            await other.navigate(f"http://127.0.0.1:{port}/other")
            assert (await other.read_ax()).text == '- paragraph\n  - StaticText "here"'
