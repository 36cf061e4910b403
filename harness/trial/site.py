"""The fixture server: serves tasks' pages on loopback, keeps state for each run, and hands that state to the harness.

A run is found by its unguessable id, which stands in every address. What `read_back` returns never passes through a
browser.
"""

import asyncio
import contextlib
import mimetypes
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager

import orjson
import uvicorn
from pydantic import JsonValue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.trial import sites
from harness.trial.sites.base import ApiCall, Site
from harness.trial.tasks import Task

MAX_BODY_BYTES = 65_536
"""Bytes of a posted body: far more than any form needs."""

RUN_ID_BYTES = 16
"""Random bytes of a run id: 128 bits, so that no page can guess another run's."""

STOP_S = 2
"""Seconds that open requests get when the server stops; the slowest of ours takes 0.75. Then they are cancelled."""

_Runs = dict[str, tuple[Task, Site]]


class FixtureRun:
    """One fresh state of a task's site. `id` is unguessable; `base_url` ends in a slash."""

    def __init__(self, task: Task, base_url: str, runs: _Runs) -> None:
        self.task = task
        self.id = secrets.token_urlsafe(RUN_ID_BYTES)
        self.base_url = f"{base_url}{self.id}/"
        self._runs = runs

    @property
    def goal(self) -> str:
        """The task's goal with this run's address in place of `{base}`."""
        return self.task.goal.replace("{base}", self.base_url)

    def url(self, page: str) -> str:
        """The address of a page, by its name in the task's files."""
        return self.base_url + page

    async def read_back(self) -> dict[str, JsonValue] | None:
        """The state's summary; None where the run does not exist any more."""
        kept = self._runs.get(self.id)
        return None if kept is None else kept[1].summary()

    def close(self) -> None:
        """Forget the state; its addresses answer 404 from now on. A second call does nothing."""
        self._runs.pop(self.id, None)


class FixtureServer:
    """Begins runs. `base_url` is where their ids follow."""

    def __init__(self, makers: Mapping[str, Callable[[], Site]], base_url: str, runs: _Runs) -> None:
        self.base_url = base_url
        self._makers = makers
        self._runs = runs

    def begin(self, task: Task) -> FixtureRun:
        """A run with a fresh id and a fresh state.

        Raises:
            ValueError: the task is not one of those that are served.
        """
        make = self._makers.get(task.key)
        if make is None:
            raise ValueError(f"task {task.key} is not served here")
        run = FixtureRun(task, self.base_url, self._runs)
        self._runs[run.id] = (task, make())
        return run


@asynccontextmanager
async def serve(tasks: Mapping[str, Task]) -> AsyncIterator[FixtureServer]:
    """Serve tasks on 127.0.0.1, on a free port, in the running loop, until the block ends.

    Raises:
        SpecError: a task's data file is not of the form that its site needs.
        OSError: no port can be opened.
    """
    makers = {task.key: sites.maker(task) for task in tasks.values()}
    runs: _Runs = {}
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        port = listener.getsockname()[1]
        server = _QuietServer(
            uvicorn.Config(
                _application(runs),
                lifespan="off",
                ws="none",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=STOP_S,
            )
        )
        # Requests that come before the server runs wait in the listener's backlog.
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="fixture server")
        try:
            yield FixtureServer(makers, f"http://127.0.0.1:{port}/", runs)
        finally:
            runs.clear()
            server.should_exit = True
            await _ended(serving)


async def _ended(serving: asyncio.Task[None]) -> None:
    """Wait for the server's end, which it bounds by STOP_S itself, also while being cancelled: no socket is left."""
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        await asyncio.wait({serving})
        raise


class _QuietServer(uvicorn.Server):
    """Leaves the process's signals to the command line, which owns them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _Handlers:
    """The requests that the server answers."""

    def __init__(self, runs: _Runs) -> None:
        self._runs = runs

    async def page(self, request: Request) -> Response:
        """A file of the run's task."""
        kept = self._runs.get(request.path_params["run"])
        if kept is None:
            return _not_found()
        task, site = kept
        address = request.path_params["path"]
        # A lookup, not a path: what is not a file of this task's pages cannot be named.
        file = task.files.get(address)
        if file is None:
            return _not_found()
        is_page = file.suffix == ".html"
        if is_page and request.method == "GET":
            site.note_read(address)
        return Response(file.read_bytes(), media_type="text/html" if is_page else _media_type(file.name))

    async def api(self, request: Request) -> Response:
        """A request to the run's site."""
        kept = self._runs.get(request.path_params["run"])
        if kept is None:
            return _not_found()
        body: JsonValue = None
        if request.method == "POST":
            data = await _read_body(request)
            if data is None:
                return _error(413, f"The body is longer than {MAX_BODY_BYTES} bytes.")
            try:
                body = orjson.loads(data)
            except orjson.JSONDecodeError:
                return _error(400, "The body is not JSON.")
        query = dict(request.query_params)
        call = ApiCall(method=request.method, path=request.path_params["path"], query=query, body=body)
        answer = await kept[1].call(call)
        return Response(orjson.dumps(answer.body), answer.status, media_type="application/json")

    async def icon(self, request: Request) -> Response:
        """Browsers ask for it unasked; a 404 would stand in every console."""
        return Response(status_code=204)


def _application(runs: _Runs) -> ASGIApp:
    handlers = _Handlers(runs)
    routes = [
        Route("/favicon.ico", handlers.icon),
        Route("/{run}/api/{path:path}", handlers.api, methods=["GET", "POST"]),
        Route("/{run}/{path:path}", handlers.page),
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False  # what is not there is 404, not somewhere else
    return _no_store(app)


def _no_store(app: ASGIApp) -> ASGIApp:
    """Every answer is read anew: a cached page would not be counted."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await app(scope, receive, send_with_header)

    return wrapped


async def _read_body(request: Request) -> bytes | None:
    """The body; None where it is too long, of which no more than the bound and one chunk is read."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            return None
    return bytes(data)


def _media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _not_found() -> Response:
    return _error(404, "There is nothing here.")


def _error(status: int, text: str) -> Response:
    return Response(orjson.dumps({"error": text}), status, media_type="application/json")
