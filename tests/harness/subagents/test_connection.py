"""Frames by hand against a parent with pages in memory: what is malformed is answered or counted, and no more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import orjson
import pytest
from pydantic import JsonValue

from harness.subagents.child import read_loadout
from harness.subagents.frames import PREFIX_BYTES, Object, encode
from harness.subagents.launch import Launched
from harness.tools.modes import Agent

if TYPE_CHECKING:
    from tests.harness.subagents.conftest import Fake

WORKER = Agent(kind="worker")
BOUND_S = 20.0


class Line:
    """A greeted connection."""

    def __init__(self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], said: Object) -> None:
        self.reader, self.writer = streams
        self.said = said

    def send(self, **more: JsonValue) -> None:
        self.writer.write(encode({**self.said, **more}))

    async def read(self) -> Object:
        async with asyncio.timeout(BOUND_S):
            size = int.from_bytes(await self.reader.readexactly(PREFIX_BYTES), "big")
            message: Object = orjson.loads(await self.reader.readexactly(size))
        return message

    async def evaluate(self, request: str, expression: str) -> Object:
        self.send(kind="browser", requestId=request, payload=called(expression=expression))
        return await self.read()


def called(**params: JsonValue) -> Object:
    return {"tool": "browser_eval", "params": params}


@asynccontextmanager
async def line_of(place: Launched) -> AsyncIterator[Line]:
    given = read_loadout(place.loadout)
    line = Line(await asyncio.open_unix_connection(given.socket), {"token": given.token, "owner": given.owner})
    line.send(kind="hello")
    assert await line.read() == {"kind": "ownership", "owner": given.owner}
    yield line
    line.writer.close()


def answer(request: str, value: str) -> Object:
    result: Object = {"text": f'"{value}"', "details": {"result": value}}
    return {"kind": "result", "requestId": request, "owner": "child-1", "ok": True, "result": result, "error": None}


def failure(request: str, message: str) -> Object:
    error: Object = {"kind": "bad_request", "message": message}
    return {"kind": "result", "requestId": request, "owner": "child-1", "ok": False, "result": None, "error": error}


@pytest.mark.parametrize("request_id", [" \t", "a\0", "", "x" * 129, 7, None])
async def test_a_malformed_frame_without_a_usable_id_is_counted_and_the_connection_goes_on(
    fake: "Fake", request_id: JsonValue
) -> None:
    async with fake.host.place(WORKER) as place, line_of(place) as line:
        line.send(kind="browser", requestId=request_id, payload=5)
        assert await line.evaluate("2", "x") == answer("2", "x")
    assert fake.host.counts == {"malformed": 1}


async def test_what_a_child_calls_its_fields_and_tools_is_quoted_and_bounded(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place, line_of(place) as line:
        line.send(**{"\x1b" * 40_000: 1}, kind="cancel", requestId="1")
        fields = await line.read()
        line.send(kind="browser", requestId="2", payload={"tool": "\x1b[2J\u202e", "params": {}})
        tool = await line.read()
    escapes = "\\u001b" * 193
    assert fields == failure("1", f'the frame is malformed: "cancel.{escapes}"...')
    assert tool == failure("2", 'the frame is malformed: "browser.payload.tool"')


async def test_parameters_may_be_as_deep_as_a_frame_holds(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place, line_of(place) as line:
        body = orjson.dumps({**line.said, "kind": "browser", "requestId": "1", "payload": called(more="DEEP")})
        body = body.replace(b'"DEEP"', b"[" * 900 + b"]" * 900)
        line.writer.write(len(body).to_bytes(PREFIX_BYTES, "big") + body)
        assert await line.read() == failure("1", 'browser_eval failed: the parameter "expression": Field required')
    assert fake.host.counts == {}


async def test_who_reconnects_while_its_old_page_closes_keeps_its_new_one(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place:
        async with line_of(place) as line:
            line.send(kind="browser", requestId="1", payload=called(expression="hang"))
            while not fake.browser.pages:  # noqa: ASYNC110 - the page is made by a task of the registry
                await asyncio.sleep(0.01)
            old = fake.browser.pages[0]
            await old.holding.wait()
            old.may_close.clear()
        await old.closing.wait()
        again = asyncio.create_task(_asked_twice(place))
        old.may_close.set()
        assert await again == [answer("1", "x"), answer("2", "x")]
        assert len(fake.browser.pages) == 2


async def _asked_twice(place: Launched) -> list[Object]:
    async with line_of(place) as line:
        return [await line.evaluate("1", "x"), await line.evaluate("2", "x")]


async def test_a_host_that_closes_over_a_connection_says_nothing_to_the_loop(fake: "Fake") -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    async with fake.host.place(WORKER) as place, line_of(place) as line:
        await fake.host.close()
        assert await line.reader.read() == b""
    assert told == []
