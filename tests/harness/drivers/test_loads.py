"""Addresses that load slowly, or not at all, with each real driver."""

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from harness.drivers.base import Dialog
from observe.errors import LoadFailed, TimedOut

if TYPE_CHECKING:
    from tests.harness.drivers.conftest import Opened

pytestmark = pytest.mark.browser

SLOW = "The page did not finish loading in time; observe before trying again."
NO_PAGE = "The address gave no page to show, as a download does; the page of before stays (net::ERR_ABORTED)."
BUTTON = "<button aria-label=T onclick=\"document.title = 'clicked'\">u</button>"
BOUND_S = 20.0


@dataclass(slots=True)
class Site:
    """A loopback server, some of whose answers never end before `over` is set."""

    over: threading.Event = field(default_factory=threading.Event)
    address: str = ""


class _Handler(http.server.BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        with suppress(OSError):  # the browser may have given the load up
            match self.path:
                case "/silent" | "/picture":
                    self.site.over.wait(BOUND_S)
                    self._answer("text/html", b"<title>late</title>")
                case "/slow":
                    self._answer("text/html", f"<title>slow</title>{BUTTON}<img src=/picture>".encode())
                case "/asks":
                    self._answer("text/html", b"<script>document.title = confirm(1)</script>")
                case "/nothing":
                    self.send_response(204)
                    self.end_headers()
                case "/file":
                    self._answer("application/octet-stream", b"x")
                case _:
                    self._answer("text/html", f"<title>{self.path}</title>{BUTTON}".encode())

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    handler = type("Handler", (_Handler,), {"site": made})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        made.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        made.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load is waited for one second."""
    for module in ("settle", "agent_input", "current_page"):
        monkeypatch.setattr(f"harness.drivers.{module}.LOAD_TIMEOUT_S", 1.0)


async def click(opened: "Opened") -> object:
    """Click the page's button and wait as the host does; the title then."""
    await opened.page.click(await opened.target("T"))
    await opened.page.settle()
    return await opened.evaluate("document.title")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("path", "title"), [("/slow", "slow"), ("/silent", "/before")])
async def test_a_load_that_does_not_end(path: str, title: str, opened: "Opened", site: Site) -> None:
    await opened.page.navigate(f"{site.address}/before")
    with pytest.raises(TimedOut) as refused:
        await opened.page.navigate(site.address + path)
    assert (refused.value.message, refused.value.input_sent) == (SLOW, True)
    assert await opened.evaluate("document.title") == title
    assert await click(opened) == "clicked"
    await opened.page.navigate(f"{site.address}/after")
    await opened.page.settle()
    assert await opened.evaluate("document.title + document.readyState") == "/aftercomplete"
    assert await click(opened) == "clicked"


@pytest.mark.usefixtures("short")
async def test_a_link_to_a_load_that_does_not_end(opened: "Opened", site: Site) -> None:
    await opened.page.navigate(f"{site.address}/before")
    await opened.evaluate("document.body.insertAdjacentHTML('beforeend', '<a href=/slow>go</a>')")
    await opened.page.click(await opened.target("go"))
    with pytest.raises(TimedOut) as refused:
        await opened.page.settle()
    assert (refused.value.message, refused.value.input_sent) == (SLOW, True)
    assert await click(opened) == "clicked"


@pytest.mark.parametrize(("path", "message"), [("/nothing", NO_PAGE), ("/file", NO_PAGE)])
async def test_an_address_without_a_page(path: str, message: str, opened: "Opened", site: Site) -> None:
    await opened.page.navigate(f"{site.address}/before")
    with pytest.raises(LoadFailed) as refused:
        await opened.page.navigate(site.address + path)
    assert (refused.value.message, refused.value.input_sent) == (message, True)
    assert await opened.evaluate("document.title") == "/before"
    assert await click(opened) == "clicked"


async def test_addresses_that_nobody_serves(opened: "Opened", site: Site) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and never listened to
        refusing = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        told = {}
        for address in (refusing, "http://nowhere.invalid/", "http://127.0.0.1:1/"):
            with pytest.raises(LoadFailed) as refused:
                await opened.page.navigate(address)
            told[address] = (refused.value.message, refused.value.input_sent)
    assert list(told.values()) == [
        ("The page could not be loaded (net::ERR_CONNECTION_REFUSED).", True),
        ("The page could not be loaded (net::ERR_NAME_NOT_RESOLVED).", True),
        ("The page could not be loaded (net::ERR_UNSAFE_PORT).", True),
    ]
    await opened.page.navigate(f"{site.address}/after")
    assert await click(opened) == "clicked"


async def test_a_document_that_asks_while_it_loads(opened: "Opened", site: Site) -> None:
    await opened.page.navigate(f"{site.address}/asks")
    assert opened.page.dialog == Dialog(kind="confirm", message="1")
    await opened.page.answer_dialog(True, None)
    await opened.page.settle()
    assert await opened.evaluate("document.title") == "true"


async def test_a_link_to_a_document_that_asks_while_it_loads(opened: "Opened", site: Site) -> None:
    await opened.page.navigate(f"{site.address}/before")
    await opened.evaluate("document.body.insertAdjacentHTML('beforeend', '<a href=/asks>go</a>')")
    await opened.page.click(await opened.target("go"))
    await opened.page.settle()
    assert opened.page.dialog == Dialog(kind="confirm", message="1")
    await opened.page.answer_dialog(False, None)
    await opened.page.settle()
    assert await opened.evaluate("document.title") == "false"
