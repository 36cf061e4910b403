"""Serves the pages on loopback, and knows when a loaded page has come to rest."""

import asyncio
import http.server
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.peers.pages import Page

SETTLE_S = 90.0
"""Seconds within which a page must have come to rest after the tool has said that it is loaded."""

QUIET_S = 0.25
"""Seconds of rest after that, the same for every tool: what a browser prepares behind the scenes is done by then."""


class PageServer:
    """Each load has a number of its own in the address, so that it is a new document."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._loop = asyncio.get_running_loop()
        self._settled: dict[str, asyncio.Event] = {}
        self._count = 0

    def new_address(self, page: str) -> tuple[str, str]:
        """An address of the page that no browser has seen, and the number that `settled` takes."""
        self._count += 1
        number = str(self._count)
        self._settled[number] = asyncio.Event()
        return f"{self._address}/{page}?n={number}", number

    async def settled(self, number: str) -> None:
        """Returns once the document of that number has come to rest.

        Raises: TimeoutError after SETTLE_S.
        """
        async with asyncio.timeout(SETTLE_S):
            await self._settled[number].wait()
        await asyncio.sleep(QUIET_S)

    def tell(self, number: str) -> None:
        """From any thread: this document has come to rest."""
        event = self._settled.get(number)
        if event is not None:
            self._loop.call_soon_threadsafe(event.set)


@asynccontextmanager
async def serve(pages: Mapping[str, Page]) -> AsyncIterator[PageServer]:
    """The pages on a free port of loopback."""

    class Handler(http.server.BaseHTTPRequestHandler):
        served: ClassVar[PageServer]

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            page = pages.get(asked.path.removeprefix("/"))
            if asked.path == "/settled":
                self._answer(204, b"")
                self.served.tell(parse_qs(asked.query).get("n", [""])[0])
            elif page is not None:
                self._answer(200, page.html.encode())
            else:
                self._answer(404, b"")

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed for each request."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Handler.served = PageServer(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Handler.served
        finally:
            server.shutdown()
            thread.join()
