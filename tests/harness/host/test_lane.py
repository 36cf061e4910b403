import asyncio

import pytest

from harness.host.lane import Lanes
from observe.errors import Stopped


async def test_turns_come_in_order_and_the_guard_is_asked_at_the_turn() -> None:
    lanes, told = Lanes(), list[str]()
    first_may_end = asyncio.Event()
    stopped = False

    def guard() -> None:
        if stopped:
            raise Stopped("Stopped.")

    async def work(name: str, until: asyncio.Event | None = None) -> None:
        async with lanes.turn("key", guard):
            told.append(name)
            if until is not None:
                await until.wait()

    first = asyncio.create_task(work("first", first_may_end))
    rest = [asyncio.create_task(work(name)) for name in ("second", "third")]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (told, len(lanes)) == (["first"], 1)
    stopped = True
    first_may_end.set()

    ends = await asyncio.gather(first, *rest, return_exceptions=True)
    assert [type(end) for end in ends] == [type(None), Stopped, Stopped]
    assert (told, len(lanes)) == (["first"], 0)


async def test_cancelled_in_the_queue_nothing_runs_and_nothing_is_kept() -> None:
    lanes, told = Lanes(), list[str]()

    async def work(name: str) -> None:
        async with lanes.turn("key", lambda: None):
            told.append(name)

    async with lanes.turn("key", lambda: None):
        waiting = [asyncio.create_task(work(name)) for name in ("second", "third")]
        await asyncio.sleep(0)
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
    await waiting[1]

    assert (told, len(lanes)) == (["third"], 0)


async def test_keys_do_not_wait_for_each_other() -> None:
    lanes = Lanes()
    async with asyncio.timeout(5), lanes.turn("a", lambda: None), lanes.turn("b", lambda: None):
        assert len(lanes) == 2
    assert len(lanes) == 0
