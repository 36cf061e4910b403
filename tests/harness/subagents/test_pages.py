"""The registry of pages, without a browser: who has a place, and what ends it."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from harness.errors import DriverError
from harness.host.owners import PARENT
from harness.host.pages import ContextClosed, GateOff, PageReaped
from observe.errors import TabLimit

if TYPE_CHECKING:
    from tests.harness.subagents.conftest import Fake


async def test_a_page_is_lazy_and_shared_by_all_who_ask_for_it_meanwhile(fake: "Fake") -> None:
    assert fake.browser.starts == 0
    first, second = await asyncio.gather(fake.pages.open("child-1"), fake.pages.open("child-1"))
    other = await fake.pages.open("child-2")
    assert (first is second, first is other, len(fake.browser.pages), fake.browser.starts) == (True, False, 2, 1)


async def test_a_place_that_is_promised_counts_and_the_parents_is_kept(fake: "Fake") -> None:
    fake.browser.may_start.clear()
    opening = [asyncio.create_task(fake.pages.open(f"child-{n}")) for n in (1, 2, 3)]
    await fake.browser.starting.wait()

    with pytest.raises(TabLimit, match="3 pages of subagents are open beside the parent's"):
        await fake.pages.open("child-4")
    opening.append(asyncio.create_task(fake.pages.open(PARENT)))
    fake.browser.may_start.set()
    await asyncio.gather(*opening)
    assert (fake.pages.owners(), fake.pages.most) == (("child-1", "child-2", "child-3", PARENT), 4)


async def test_a_page_that_opens_can_be_reaped_and_closes_itself(fake: "Fake") -> None:
    fake.browser.may_open.clear()
    opening = asyncio.create_task(fake.pages.open("child-1"))
    await fake.browser.opening.wait()
    reaping = asyncio.create_task(fake.pages.reap("child-1"))

    with pytest.raises(PageReaped):
        await opening
    assert fake.pages.owners() == ()
    fake.browser.may_open.set()
    assert await reaping is True
    assert [page.closed.is_set() for page in fake.browser.pages] == [True]
    assert await fake.pages.reap("child-1") is False


async def test_a_call_that_is_given_up_while_the_browser_starts_opens_nothing(fake: "Fake") -> None:
    fake.browser.may_start.clear()
    opening = asyncio.create_task(fake.pages.open("child-1"))
    await fake.browser.starting.wait()
    opening.cancel()
    await asyncio.wait({opening})
    reaping = asyncio.create_task(fake.pages.reap("child-1"))
    fake.browser.may_start.set()
    await reaping
    assert (fake.pages.owners(), fake.browser.pages) == ((), [])


async def test_turning_off_goes_before_what_opens_and_nothing_is_started_again(fake: "Fake") -> None:
    fake.browser.may_start.clear()
    opening = asyncio.create_task(fake.pages.open("child-1"))
    await fake.browser.starting.wait()
    off = asyncio.create_task(fake.pages.turn_off())
    with pytest.raises(ContextClosed):
        await opening
    with pytest.raises(GateOff):
        await fake.pages.open("child-2")
    await off
    assert (fake.browser.alive, fake.browser.starts, fake.browser.pages) == (False, 1, [])

    fake.browser.may_start.set()
    fake.pages.turn_on()
    await fake.pages.open("child-1")
    assert fake.browser.starts == 2


@pytest.mark.parametrize(("on", "left"), [(True, ("child-1",)), (False, ())])
async def test_a_restored_branch_decides_what_stays(fake: "Fake", on: bool, left: tuple[str, ...]) -> None:
    await fake.pages.open("child-1")
    await fake.pages.restore(on=on)
    assert (fake.pages.on, fake.pages.owners(), fake.browser.alive) == (on, left, on)


async def test_a_page_that_is_gone_gives_its_place_back_at_once(fake: "Fake") -> None:
    entry = await fake.pages.open("child-1")
    picture = entry.next_picture(2)
    picture.write_bytes(b"png")
    await fake.browser.pages[0].close()
    assert (fake.pages.owners(), fake.pages.page("child-1")) == ((), None)
    await fake.pages.close()  # waits for all that still ends
    assert not picture.exists()


async def test_of_the_pictures_of_a_page_the_latest_are_kept(fake: "Fake") -> None:
    entry = await fake.pages.open("child-1")
    for _ in range(5):
        entry.next_picture(3).write_bytes(b"png")
    assert sorted(path.name for path in entry.pictures.iterdir()) == [
        f"screenshot-00000{number}.png" for number in (3, 4, 5)
    ]
    await fake.pages.reap("child-1")
    assert not entry.pictures.exists()


async def test_a_browser_that_does_not_start_takes_no_place(fake: "Fake") -> None:
    fake.browser.fails = True
    with pytest.raises(DriverError):
        await fake.pages.open("child-1")
    assert fake.pages.owners() == ()
    fake.browser.fails = False
    await fake.pages.open("child-1")
