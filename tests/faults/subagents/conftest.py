"""A parent over a real Chromium, children as real processes that speak bytes of their own, and a page that tells."""

import asyncio
import http.server
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import JsonValue

from harness.config import load_settings
from harness.host.browsers import Browsers, opened_browsers
from harness.host.pages import OwnerPages, opened_pages
from harness.subagents.launch import Launched, SubagentHost, python_program, subagent_host
from harness.subagents.messages import BrowserResult
from harness.tools.modes import Agent

BOUND_S = 40.0
TICK_S = 0.01

# Frames by hand: what the product's own child would never send.
RAW = """
import json, os, socket, struct, sys
given = json.loads(open(sys.argv[-1], "rb").read())

def frame(message):
    body = json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body

def said(**more):
    return {"token": given["token"], "owner": given["owner"], **more}

def call(request, tool, **params):
    return said(kind="browser", requestId=request, payload={"tool": tool, "params": params})

class Line:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(given["socket"])
    def send(self, *messages):
        self.socket.sendall(b"".join(frame(message) for message in messages))
    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                return None
            data += more
        return data
    def read(self):
        try:
            length = self.exactly(4)
            return None if length is None else json.loads(self.exactly(struct.unpack(">I", length)[0]))
        except ConnectionResetError:
            return None
    def hello(self):
        self.send(said(kind="hello"))
        return self.read()
    def ask(self, request, tool, **params):
        self.send(call(request, tool, **params))
        return self.read()
    def report(self, payload):
        self.send(said(kind="report", payload=payload))
        self.read()
"""

# The product's own child.
CHILD = """
import asyncio, sys
from pathlib import Path
from harness.subagents.child import connect

async def main():
    async with connect(Path(sys.argv[-1])) as browser:
        await browser.report({"said": await work(browser)})
"""


@dataclass(slots=True)
class Site:
    """A page on loopback, and who asked for what."""

    address: str = ""
    paths: list[str] = field(default_factory=list)


class _Handler(http.server.BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self.site.paths.append(self.path)
        body = f"<!doctype html><title>{self.path}</title><p>Hello</p>".encode()
        self.send_response(204 if self.path.startswith("/hit") else 200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if not self.path.startswith("/hit"):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    handler = type("Handler", (_Handler,), {"site": made})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        made.address = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


@dataclass(slots=True)
class Parent:
    """A parent at work. `mode` is what it says when it is asked."""

    pages: OwnerPages
    host: SubagentHost
    mode: str | None = "Build"
    runtimes: list[Any] = field(default_factory=list)

    def child(self, script: str, *arguments: str, owner: str | None = None) -> AbstractAsyncContextManager[Launched]:
        """A worker that runs a script over RAW."""
        return self.host.spawn(Agent(kind="worker"), python_program("-c", RAW + script, *arguments), owner)

    def own_child(self, work: str, *arguments: str) -> AbstractAsyncContextManager[Launched]:
        """A worker that runs `work(browser)` over the product's own child."""
        return self.host.spawn(Agent(kind="worker"), python_program("-c", CHILD + work + RUN, *arguments))

    async def said(self, child: Launched) -> dict[str, JsonValue] | None:
        """The child's report."""
        async with asyncio.timeout(BOUND_S):
            report = await child.result()
        assert report is not None, child.process.stderr if child.process is not None else ""
        return report

    async def ran(self, script: str, *arguments: str) -> JsonValue:
        """The report of a child that runs a script over RAW."""
        async with self.child(script, *arguments) as child:
            return await self.said(child)

    async def call(self, tool: str, **params: JsonValue) -> BrowserResult:
        """The parent's own call."""
        return await self.host.call(tool, params)

    async def evaluate(self, expression: str) -> str:
        """The text of the value in the parent's page."""
        answer = await self.call("browser_eval", expression=expression)
        assert answer.result is not None, answer
        return answer.result.text

    async def until(self, check: Callable[[], bool]) -> None:
        """Wait until it is so, within bounds."""
        end = time.monotonic() + BOUND_S
        while not check():
            assert time.monotonic() < end
            await asyncio.sleep(TICK_S)

    async def no_pages(self, *but: str) -> None:
        """Wait until no other owner has a place."""
        await self.until(lambda: set(self.pages.owners()) <= set(but))

    def kill_chrome(self) -> None:
        """As a crash of the whole browser."""
        os.kill(self.runtimes[-1].endpoint.pid, signal.SIGKILL)


RUN = "\nasyncio.run(main())\n"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browsers() -> AsyncIterator[Browsers]:
    """The driver's program, once for all; each parent starts a Chromium of its own."""
    async with opened_browsers(load_settings()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def parent(browsers: Browsers) -> AsyncIterator[Parent]:
    runtimes: list[Any] = []

    def make(key: Any) -> Any:
        runtimes.append(browsers.make(key))
        return runtimes[-1]

    async def mode() -> str | None:
        return made.mode

    async with opened_pages(make) as pages, subagent_host(pages, mode) as host:
        pages.turn_on()
        made = Parent(pages, host, runtimes=runtimes)
        yield made


Tell = Callable[[str], None]


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Shows a measured figure, also where output is captured."""

    def show(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}\n")

    return show


@pytest.fixture
def raw_child() -> str:
    """What a script needs to speak bytes of its own."""
    return RAW


@pytest.fixture
def own_temp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp folder that no other test uses; at the end it is empty."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert list(Path(name).iterdir()) == []
