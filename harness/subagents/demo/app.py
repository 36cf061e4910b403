"""The demo's app on loopback: a page with a fault, a request that fails, and a form whose entries are kept."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import uvicorn
from pydantic import JsonValue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.finish import finish

PAGE = Path(__file__).parent / "pages" / "index.html"
STOP_S = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoApp:
    """The app at work. `members` are the entries of its form, in order."""

    address: str
    members: list[JsonValue] = field(default_factory=list)


class _QuietServer(uvicorn.Server):
    """Leaves the process's signals to the command line, which owns them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def demo_app() -> AsyncIterator[DemoApp]:
    """The app on 127.0.0.1, on a free port, until the block ends.

    Raises:
        OSError: no port can be opened.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        app = DemoApp(address=f"http://127.0.0.1:{listener.getsockname()[1]}/")
        config = uvicorn.Config(
            _routes(app), lifespan="off", ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=STOP_S
        )
        server = _QuietServer(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield app
        finally:
            server.should_exit = True
            await finish(_ended(serving))


async def _ended(serving: "asyncio.Task[None]") -> None:
    await asyncio.wait({serving})


def _routes(app: DemoApp) -> Starlette:
    async def page(_request: Request) -> Response:
        return Response(PAGE.read_bytes(), media_type="text/html")

    async def prices(_request: Request) -> Response:
        return JSONResponse({"error": "the price list is not here"}, 500)

    async def members(request: Request) -> Response:
        app.members.append(orjson.loads(await request.body()))
        return Response(status_code=204)

    async def icon(_request: Request) -> Response:
        return Response(status_code=204)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/favicon.ico", icon),
            Route("/prices", prices),
            Route("/members", members, methods=["POST"]),
        ]
    )
