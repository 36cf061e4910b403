"""One owner's page for verification: it takes selectors, evaluates code, and keeps console and network.

Playwright loads, fills, clicks and takes pictures; a direct DevTools connection evaluates and listens. Native dialogs
are dismissed by Playwright, and windows that the page opens are closed: an owner has one page. Every foreign error is
translated here; what the page says of itself in one is quoted and bounded.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import orjson
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator, Page
from playwright.async_api import TimeoutError as PlaywrightTimeout
from pydantic import JsonValue

from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
from harness.drivers.load_failure import broken_off, load_failure, refused_by_network
from harness.drivers.page_log import PageLog, without_secrets
from harness.drivers.page_moves import ATTEMPTS, PageMoves
from harness.errors import OperationFailed, OperationTimedOut, OwnerPageGone, quoted
from observe.events import bounded_text

T = TypeVar("T")

MAX_VALUE_BYTES = 64 * 1024
"""UTF-8 bytes of an evaluated value as JSON: text and details of it then fit together into one frame to a child."""

MAX_VALUE_DEPTH = 64
"""Levels of an evaluated value: more than data has, and far from what a JSON reader follows."""

MAX_PICTURE_PIXELS = 100_000_000
"""Pixels of a picture of a whole page: Chrome holds 4 bytes for each of them, twice."""

BLANK = "about:blank"
CLOSED = "the page was closed"
MOVED = "the page went to another document before the value was there"
RESTLESS = "the page went elsewhere by itself, and broke the load off"
NO_EXPRESSION = "is not one JavaScript expression; wrap statements as (() => { ...; return value; })()"

_KINDS = ("text", "role", "css")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """How a load ended. `status` 0: there was no response (same document)."""

    status: int
    final_url: str


class OwnerPage:
    """One page. `log` holds its console and network; `gone` is set once it is closed or has crashed.

    `camera` is that of the browser; `stack` ends with the page.
    """

    def __init__(self, page: Page, cdp: CdpConnection, camera: asyncio.Lock, stack: AsyncExitStack) -> None:
        self.log = PageLog(cdp)
        self.gone = asyncio.Event()
        self._page = page
        self._moves = PageMoves(page, cdp)
        self._untouched = True
        self._cdp = cdp
        self._camera = camera
        self._stack = stack
        self._on_gone: list[Callable[[], None]] = []
        self._serialize = (files("harness.drivers") / "owner_value.js").read_text(encoding="utf-8")
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Listen to the page."""
        self._page.on("close", self._end)
        self._page.on("crash", self._end)
        self._page.on("popup", self._refuse_popup)
        self._cdp.on("Runtime.executionContextsCleared", self._moved)
        async with self._translated():
            await self.log.start()
            await self._moves.start()

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call it as soon as the page is closed, by whomever, or has crashed; at once where it is."""
        self._on_gone.append(call)
        if self.gone.is_set():
            call()

    @property
    def blank(self) -> bool:
        """Whether nothing was ever opened or done in it."""
        return self._untouched and self._page.url == BLANK

    # ---- what the tools do ----

    async def goto(self, url: str, timeout_ms: float) -> Loaded:
        """Load an address; returns when the document's content is there, while requests may still run.

        What the page had begun to load by itself is stopped; where it breaks this load off, the address is asked for
        again.
        """
        self._untouched = False
        timeout_s = timeout_ms / 1000
        for _ in range(ATTEMPTS):
            try:
                async with self._translated():
                    await self._moves.prepare()
                response = await self._played(self._page.goto(url, wait_until="domcontentloaded", timeout=timeout_ms))
            except OperationFailed as error:
                if not await self._own_move(broken_off(error.message), timeout_s):
                    await self._not_loaded(error.message, timeout_s)
                    raise OperationFailed(load_failure(error.message.strip('"'))) from error
            else:
                elsewhere = response is None and self._page.url.partition("#")[0] != url.partition("#")[0]
                if not await self._own_move(elsewhere, timeout_s):
                    async with self._translated():
                        await self._moves.caught_up(timeout_s)
                    final_url = bounded_text(without_secrets(self._page.url))
                    return Loaded(status=0 if response is None else response.status, final_url=final_url)
        raise OperationFailed(RESTLESS)

    async def _own_move(self, broken: bool, timeout_s: float) -> bool:
        """Whether it was the page itself that broke a load off."""
        if broken:
            async with self._translated():
                await self._moves.heard(timeout_s)
        return broken and self._moves.own

    async def _not_loaded(self, said: str, timeout_s: float) -> None:
        if refused_by_network(said):
            async with self._translated():
                await self._moves.fault_page(timeout_s)

    async def evaluate(self, expression: str, timeout_ms: float) -> JsonValue:
        """The value of one expression, of a function without arguments that it gives, or of a promise of either.

        Raises:
            OperationFailed: it is not one expression (nothing was run), or threw.
        """
        self._untouched = False
        code = expression.rstrip().rstrip(";")
        source = f"({code}\n), () => [{code}\n]"  # never called: what closes one bracket does not close the other
        call = f"({self._serialize})({MAX_VALUE_BYTES}, {MAX_VALUE_DEPTH}, {source})"
        given = {"expression": call, "awaitPromise": True, "returnByValue": True, "userGesture": True}
        async with self._translated():
            answer = await self._cdp.send("Runtime.evaluate", given, timeout_s=timeout_ms / 1000)
            if (thrown := answer.get("exceptionDetails")) is not None:
                await self._explain(source, thrown, timeout_ms)
        return _decoded(answer)

    async def _explain(self, source: str, thrown: Json, timeout_ms: float) -> None:
        said = quoted(_thrown(thrown))
        if thrown.get("exception", {}).get("className") == "SyntaxError":  # thrown by the code, or by reading it
            given = {"expression": f"[{source}]", "sourceURL": "", "persistScript": False}
            compiled = await self._cdp.send("Runtime.compileScript", given, timeout_s=timeout_ms / 1000)
            if "exceptionDetails" in compiled:
                raise OperationFailed(f"it {NO_EXPRESSION} ({said})")
        raise OperationFailed(f"it threw {said}")

    async def fill(self, selector: str, value: str, timeout_ms: float) -> None:
        """Replace what a field holds."""
        self._untouched = False
        await self._played(self._located(selector).fill(value, timeout=timeout_ms))

    async def click(self, selector: str, timeout_ms: float) -> None:
        """Click an element as soon as it can be clicked."""
        self._untouched = False
        await self._played(self._located(selector).click(timeout=timeout_ms))

    async def screenshot(self, path: Path, timeout_ms: float, *, full: bool) -> None:
        """A picture of the window or the whole page as PNG. One page of a browser at a time is in front, and drawn."""

        async def take() -> None:
            async with self._camera:
                await self._page.bring_to_front()
                if full:
                    await self._small_enough(timeout_ms / 1000)
                await self._page.screenshot(path=path, full_page=full, timeout=timeout_ms, scale="css")

        await self._played(take())

    async def _small_enough(self, timeout_s: float) -> None:
        size = (await self._cdp.send("Page.getLayoutMetrics", timeout_s=timeout_s))["cssContentSize"]
        wide, high = round(size["width"]), round(size["height"])
        if wide * high > MAX_PICTURE_PIXELS:
            raise OperationFailed(
                f"the page has {wide} by {high} pixels, and a picture at most {MAX_PICTURE_PIXELS}; take the window"
            )

    def _located(self, selector: str) -> Locator:
        """`text=...` by text, `role=...` by role, else CSS, with or without `css=`.

        Raises:
            OperationFailed: nothing follows the kind.
        """
        kind, mark, rest = selector.partition("=")
        if mark and kind in _KINDS:
            if not rest.strip():
                raise OperationFailed(f"the selector {kind}= names no {kind}")
            return self._page.get_by_text(rest) if kind == "text" else self._page.locator(f"{kind}={rest}")
        return self._page.locator(f"css={selector}")

    # ---- its end ----

    async def close(self) -> None:
        """Close the page, whatever it does; a second call does nothing."""
        self._end()
        await self._stack.aclose()

    def _end(self, _page: object = None) -> None:
        if not self.gone.is_set():
            self.gone.set()
            for call in self._on_gone:
                call()

    def _moved(self, _params: Json, _session: str | None) -> None:
        """Another document took over; Chrome does not always end what was evaluated in the one before."""
        self._cdp.fail_pending(CdpError("Runtime.evaluate", MOVED))

    def _refuse_popup(self, popup: Page) -> None:
        self.log.note("popup", f"closed the window {quoted(without_secrets(popup.url))}: an owner has one page")
        self._start(popup.close())

    def _start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for it gets it; nobody may be left to wait

    async def _played(self, work: Coroutine[Any, Any, T]) -> T:
        """What Playwright is doing, to its end also where the caller is cancelled: the page then ends, and the work
        with it. Playwright loses the error of a call that is cancelled.
        """
        async with self._translated():
            return await asyncio.shield(self._start(work))

    @asynccontextmanager
    async def _translated(self) -> AsyncIterator[None]:
        """
        Raises:
            OperationFailed, OperationTimedOut, OwnerPageGone: for what Playwright and Chrome raise.
        """
        try:
            yield
        except (PlaywrightTimeout, CdpTimeout) as error:
            raise OperationTimedOut("the page did not do it in time") from error
        except CdpClosed as error:
            raise OwnerPageGone(CLOSED) from error
        except CdpError as error:
            raise OperationFailed(MOVED) from error
        except PlaywrightError as error:
            if self.gone.is_set() or self._page.is_closed():
                raise OwnerPageGone(CLOSED) from error
            raise OperationFailed(quoted(error.message.partition("\nCall log:")[0].strip())) from error


def _thrown(details: Json) -> str:
    """The first line of what was thrown."""
    exception = details.get("exception", {})
    text = exception.get("description") or exception.get("value", exception.get("unserializableValue"))
    return str(details.get("text", "") if text is None else text).partition("\n")[0]


def _decoded(answer: Json) -> JsonValue:
    """
    Raises:
        OperationFailed: a page that has changed the language itself gave something else.
    """
    text = answer["result"].get("value")
    if not isinstance(text, str) or len(text) > 4 * MAX_VALUE_BYTES:
        raise OperationFailed("the page gave no value of the agreed form")
    try:
        value: JsonValue = orjson.loads(text)["value"]
        orjson.dumps(value)  # it writes less deep than it reads
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise OperationFailed("the page gave no value of the agreed form") from error
    return value
