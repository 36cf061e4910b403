"""An owner's page over a Playwright and a Chrome of a few words: which loads are asked for again, and which are not."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
from playwright.async_api import Error as PlaywrightError

from harness.drivers.cdp import CdpError
from harness.drivers.owner_page import OwnerPage
from harness.errors import OperationFailed

THERE = "http://a.test/"
INTERRUPTED = f'Page.goto: Navigation to "{THERE}" is interrupted by another navigation to "http://a.test/own"'
ABORTED = f"Page.goto: net::ERR_ABORTED at {THERE}\nCall log:\n"
DOWNLOAD = "Page.goto: Download is starting\nCall log:\n"
NO_PAGE = "The address gave no page to show, as a download does; the page of before stays (net::ERR_ABORTED)."


class FakeResponse:
    status = 200


class FakePage:
    """Fails once for each text that is left."""

    url = THERE

    def __init__(self, fails: list[str]) -> None:
        self.fails = fails
        self.loads = 0

    def on(self, _event: str, _call: Callable[..., None]) -> None:
        pass

    def is_closed(self) -> bool:
        return False

    async def goto(self, _url: str, **_options: object) -> FakeResponse:
        self.loads += 1
        if self.fails:
            raise PlaywrightError(self.fails.pop(0))
        return FakeResponse()


class FakeCdp:
    """Says that the page moves by itself where it does; `deaf` commands to stop are lost."""

    def __init__(self, *, moves: bool, deaf: int = 0) -> None:
        self.moves = moves
        self.deaf = deaf
        self.stops = 0
        self._handlers: dict[str, Callable[[dict[str, Any], str | None], None]] = {}

    def on(self, method: str, handler: Callable[[dict[str, Any], str | None], None]) -> None:
        self._handlers[method] = handler

    async def send(self, method: str, _params: object = None, **_options: object) -> dict[str, Any]:
        if method == "Page.enable" and self.moves:
            self._handlers["Page.frameRequestedNavigation"]({}, None)
        if method == "Page.stopLoading":
            self.stops += 1
            if self.stops <= self.deaf:
                raise CdpError(method, "another document")
        return {}


async def opened(page: FakePage, cdp: FakeCdp) -> OwnerPage:
    made = OwnerPage(cast("Any", page), cast("Any", cdp), asyncio.Lock(), AsyncExitStack())
    await made.start()
    return made


async def test_a_load_that_the_page_itself_breaks_off_is_asked_for_again() -> None:
    page, cdp = FakePage([ABORTED, INTERRUPTED]), FakeCdp(moves=True, deaf=1)
    owner = await opened(page, cdp)
    loaded = await owner.goto(THERE, 1_000)
    assert (loaded.status, loaded.final_url, page.loads, cdp.stops) == (200, THERE, 3, 4)
    await owner.goto(THERE, 1_000)  # all that is told of before is done with
    assert (page.loads, cdp.stops) == (4, 4)


async def test_a_page_that_never_rests_is_told_so() -> None:
    page = FakePage([ABORTED] * 9)
    with pytest.raises(OperationFailed) as refused:
        await (await opened(page, FakeCdp(moves=True))).goto(THERE, 1_000)
    assert (refused.value.message, page.loads) == ("the page went elsewhere by itself, and broke the load off", 5)


@pytest.mark.parametrize(
    ("fails", "moves", "said"),
    [
        (ABORTED, False, NO_PAGE),
        (DOWNLOAD, True, NO_PAGE),
        (INTERRUPTED, False, "The page could not be loaded (no reason given)."),
    ],
)
async def test_what_gives_no_page_is_asked_for_once(fails: str, moves: bool, said: str) -> None:
    page = FakePage([fails])
    with pytest.raises(OperationFailed) as refused:
        await (await opened(page, FakeCdp(moves=moves))).goto(THERE, 1_000)
    assert (refused.value.message, page.loads) == (said, 1)
