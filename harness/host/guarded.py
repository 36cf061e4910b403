"""A driver's page below the authority: each command is checked before it is sent and before its answer is used.

No command passes outside a call, or in a call of another owner's.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from harness.drivers.base import Dialog, DriverPage, RefTarget
from harness.host.authority import Authority, refusal
from harness.host.calls import CURRENT, Call
from harness.host.lane import Guard
from observe.errors import PageGone, Revoked
from observe.model import AxText, DomObservation, PageText, Reads, SearchedElements, Stamp
from observe.page import Filled

T = TypeVar("T")


@runtime_checkable
class TakesGuard(Protocol):
    """A driver's page that carries an action out in several commands, and asks around each of them."""

    guard: Guard


class GuardedPage:
    """The same page, for the calls of its owner. `on_gone` is called when it turns out to be closed."""

    def __init__(self, page: DriverPage, owner: str, authority: Authority, on_gone: Callable[[], None]) -> None:
        self.inner = page
        self._owner = owner
        self._authority = authority
        self._on_gone = on_gone
        if isinstance(page, TakesGuard):
            page.guard = self._check

    def _check(self) -> None:
        self._call()

    def _call(self) -> Call:
        call = CURRENT.get()
        if call is None or call.ticket.registration.bot != self._owner:
            raise refusal(Revoked)
        self._authority.check(call.ticket)
        return call

    async def _read(self, command: Awaitable[T]) -> T:
        try:
            answer = await command
        except PageGone:
            self._on_gone()
            raise
        self._check()
        return answer

    async def _input(self, send: Callable[[], Awaitable[T]]) -> T:
        self._call().input_begun = True
        return await self._read(send())

    # ---- reads ----

    @property
    def target_id(self) -> str:
        return self.inner.target_id

    @property
    def dialog(self) -> Dialog | None:
        return self.inner.dialog

    def take_alerts(self) -> tuple[Dialog, ...]:
        return self.inner.take_alerts()

    async def document_nonce(self) -> str:
        self._check()
        return await self._read(self.inner.document_nonce())

    async def read_ax(self, filled: Filled | None = None) -> AxText:
        self._check()
        return await self._read(self.inner.read_ax(filled))

    async def read_text(self) -> PageText:
        self._check()
        return await self._read(self.inner.read_text())

    async def read_dom(self, stamp: Stamp, *, counted: bool = True, before: int = 0) -> DomObservation:
        self._check()
        return await self._read(self.inner.read_dom(stamp, counted=counted, before=before))

    async def read_elements(self) -> SearchedElements:
        self._check()
        return await self._read(self.inner.read_elements())

    async def read_chosen(self, stamp: Stamp, chosen: Sequence[int]) -> DomObservation:
        self._check()
        return await self._read(self.inner.read_chosen(stamp, chosen))

    async def read_together(self, stamp: Stamp, filled: Filled) -> Reads | None:
        self._check()
        return await self._read(self.inner.read_together(stamp, filled))

    async def read_ids(self, stamp: Stamp) -> tuple[int, ...]:
        self._check()
        return await self._read(self.inner.read_ids(stamp))

    async def show(self) -> None:
        self._check()
        await self._read(self.inner.show())

    async def screenshot(self) -> bytes:
        self._check()
        return await self._read(self.inner.screenshot())

    async def settle(self) -> None:
        self._check()
        await self._read(self.inner.settle())

    # ---- input ----

    async def navigate(self, url: str) -> None:
        await self._input(lambda: self.inner.navigate(url))

    async def click(self, target: RefTarget) -> None:
        await self._input(lambda: self.inner.click(target))

    async def click_at(self, x: float, y: float) -> None:
        await self._input(lambda: self.inner.click_at(x, y))

    async def type(self, target: RefTarget, text: str) -> str | None:
        return await self._input(lambda: self.inner.type(target, text))

    async def select_option(self, target: RefTarget, labels: tuple[str, ...]) -> None:
        await self._input(lambda: self.inner.select_option(target, labels))

    async def upload(self, target: RefTarget | None, path: Path) -> None:
        await self._input(lambda: self.inner.upload(target, path))

    async def press_key(self, key: str) -> None:
        await self._input(lambda: self.inner.press_key(key))

    async def scroll(self, delta_y: int) -> int | None:
        return await self._input(lambda: self.inner.scroll(delta_y))

    async def answer_dialog(self, accept: bool, text: str | None) -> None:
        await self._input(lambda: self.inner.answer_dialog(accept, text))

    async def close(self) -> None:
        await self._input(self.inner.close)
