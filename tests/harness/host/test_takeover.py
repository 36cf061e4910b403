"""A link works once, not for long, and for nobody who does not have it; every end of it is told to who waits."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from harness.host.takeover import LINK_S, GivenTakeovers, Link, LinkRefused, Takeovers
from observe.errors import Paused

BOUND_S = 10.0


@dataclass(slots=True)
class Desk:
    """Takeovers with a clock that the test turns, and what was paused."""

    now: float = 1_000.0
    paused: list[str] = field(default_factory=list)
    takeovers: Takeovers = field(init=False)
    links: list[Link] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.takeovers = Takeovers(self.paused.append, lambda: self.now)

    def request(self, bot: str = "ada") -> str:
        """A new link; its token."""
        self.links.append(self.takeovers.request(bot))
        return self.links[-1].token

    def works(self, token: str) -> bool:
        """Whether the token redeems now."""
        try:
            self.takeovers.redeem(token)
        except LinkRefused as refused:
            self.refusals.append(refused.message)
            return False
        return True

    def begin(self, timeout_s: float = BOUND_S) -> "asyncio.Task[str]":
        """Someone who waits for ada's end."""
        return asyncio.create_task(self.takeovers.finished("ada", timeout_s))


@pytest.fixture
def desk() -> Desk:
    return Desk()


Step = Callable[[Desk], object]


def take(desk: Desk) -> object:
    return desk.takeovers.redeem(desk.links[-1].token)


def wait(seconds: float) -> Step:
    def step(desk: Desk) -> None:
        desk.now += seconds

    return step


def request(desk: Desk) -> object:
    return desk.request()


def release(desk: Desk) -> None:
    desk.takeovers.release("ada")


def take_and_release(desk: Desk) -> None:
    take(desk)
    release(desk)


def end(desk: Desk) -> None:
    desk.takeovers.end("ada")


@pytest.mark.parametrize(
    ("steps", "status", "works"),
    [
        ([], "none", False),
        ([release], "none", False),
        ([end], "none", False),
        ([request], "offered", True),
        ([request, release], "offered", True),
        ([request, wait(LINK_S - 0.001)], "offered", True),
        ([request, wait(LINK_S)], "expired", False),
        ([request, wait(LINK_S), release], "expired", False),
        ([request, wait(LINK_S), request], "offered", True),
        ([request, request], "offered", True),
        ([request, end], "none", False),
        ([request, end, request], "offered", True),
        ([request, take], "taken", False),
        ([request, take, wait(LINK_S)], "taken", False),
        ([request, take, end], "none", False),
        ([request, take, end, release], "none", False),
        ([request, take, release], "released", False),
        ([request, take, release, release], "released", False),
        ([request, take, release, wait(LINK_S)], "released", False),
        ([request, take, release, request], "offered", True),
        ([request, take, release, end], "none", False),
    ],
)
def test_how_a_request_stands_and_whether_its_link_works(
    desk: Desk, steps: list[Step], status: str, works: bool
) -> None:
    for step in steps:
        step(desk)
    assert desk.takeovers.status("ada") == status
    assert desk.takeovers.status("bob") == "none"
    token = desk.links[-1].token if desk.links else "unknown"
    taken = len(desk.paused)
    assert desk.takeovers.is_open(token) is works
    assert desk.works(token) is works
    assert desk.paused[taken:] == (["ada"] if works else [])


def test_a_link_works_once_and_the_bot_is_paused_before_it_counts(desk: Desk) -> None:
    seen: list[str] = []
    takeovers = Takeovers(lambda bot: seen.append(f"{bot} {takeovers.status(bot)}"), lambda: 0.0)
    token = takeovers.request("ada").token
    assert takeovers.redeem(token) == "ada"
    assert seen == ["ada offered"]
    with pytest.raises(LinkRefused):
        takeovers.redeem(token)
    assert seen == ["ada offered"]


def test_an_open_request_is_taken_without_its_link(desk: Desk) -> None:
    token = desk.request()
    desk.request("bob")
    desk.takeovers.take("ada")
    assert (desk.paused, desk.takeovers.status("ada"), desk.takeovers.status("bob")) == (["ada"], "taken", "offered")
    assert not desk.works(token)


@pytest.mark.parametrize(
    "steps", [[], [request, take], [request, wait(LINK_S)], [request, end], [request, take_and_release]]
)
def test_only_an_open_request_is_taken(desk: Desk, steps: list[Step]) -> None:
    for step in steps:
        step(desk)
    before = (list(desk.paused), desk.takeovers.status("ada"))
    with pytest.raises(LinkRefused):
        desk.takeovers.take("ada")
    assert (desk.paused, desk.takeovers.status("ada")) == before


def test_a_pause_that_fails_does_not_use_the_link_up() -> None:
    def fails(bot: str) -> None:
        raise KeyError(bot)

    takeovers = Takeovers(fails, lambda: 0.0)
    token = takeovers.request("ada").token
    with pytest.raises(KeyError):
        takeovers.redeem(token)
    assert (takeovers.status("ada"), takeovers.is_open(token)) == ("offered", True)


def test_a_newer_link_of_the_bot_kills_the_older_one(desk: Desk) -> None:
    first, second, other = desk.request(), desk.request(), desk.request("bob")
    assert [desk.works(token) for token in (first, second, other, second, "x")] == [False, True, True, False, False]
    assert desk.refusals == ["This link does not work, or does not work any more. Ask for a new one."] * 3
    assert desk.paused == ["ada", "bob"]


def test_no_bot_takes_the_browser_out_of_a_persons_hands(desk: Desk) -> None:
    assert desk.works(desk.request())
    with pytest.raises(Paused):
        desk.request()
    assert desk.takeovers.status("ada") == "taken"


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 100_000, "\ud800", "ä", "\0"])
def test_a_token_that_is_nobodys_is_refused_like_any_other(desk: Desk, token: str) -> None:
    desk.request()
    assert not desk.works(token)
    assert desk.takeovers.status("ada") == "offered"


def test_a_token_is_long_and_shown_nowhere(desk: Desk) -> None:
    token, other = desk.request(), desk.request("bob")
    assert len(token) == 43
    assert token != other
    assert repr(desk.links[0]) == "Link(bot='ada', expires_at=1600.0)"
    kept = repr(list(vars(desk.takeovers)["_requests"].values()))
    assert token not in kept
    assert "digest" not in kept


# ---- waiting for the end ----


@pytest.mark.parametrize(
    ("before", "event", "status"),
    [
        ([request, take], release, "released"),
        ([request], end, "none"),
        ([request, take], end, "none"),
        ([request], request, "offered"),
        ([request], take_and_release, "released"),
    ],
)
async def test_who_waits_is_told_at_once(desk: Desk, before: list[Step], event: Step, status: str) -> None:
    for step in before:
        step(desk)
    waiting = [desk.begin(), desk.begin()]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    event(desk)
    async with asyncio.timeout(BOUND_S / 2):
        assert await asyncio.gather(*waiting) == [status, status]


async def test_an_expiry_ends_the_wait(desk: Desk) -> None:
    desk.request()
    desk.now += LINK_S - 0.01
    waiting = desk.begin()
    await asyncio.sleep(0)  # it waits for the rest of the link's time
    desk.now += 0.01
    async with asyncio.timeout(BOUND_S / 2):
        assert await waiting == "expired"


async def test_a_taken_link_does_not_expire_under_who_waits(desk: Desk) -> None:
    desk.request()
    desk.now += LINK_S - 0.01
    waiting = desk.begin()
    await asyncio.sleep(0)
    take(desk)
    desk.now += LINK_S
    assert await desk.takeovers.finished("ada", 0.05) == "taken"  # longer than the link had left
    assert not waiting.done()
    release(desk)
    async with asyncio.timeout(BOUND_S / 2):
        assert await waiting == "released"


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([], "none"),
        ([request], "offered"),
        ([request, take], "taken"),
        ([request, take, release], "released"),
        ([request, wait(LINK_S)], "expired"),
    ],
)
@pytest.mark.parametrize("timeout_s", [0.0, 0.001, -1.0])
async def test_the_time_is_bounded(desk: Desk, steps: list[Step], status: str, timeout_s: float) -> None:
    for step in steps:
        step(desk)
    async with asyncio.timeout(BOUND_S):
        assert await desk.takeovers.finished("ada", timeout_s) == status


async def test_who_waits_can_be_cancelled(desk: Desk) -> None:
    desk.request()
    waiting = desk.begin()
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled()
    assert desk.works(desk.links[0].token)


async def test_the_link_goes_to_the_person_alone(desk: Desk) -> None:
    given: list[Link] = []
    tools = GivenTakeovers(takeovers=desk.takeovers, give=given.append)
    tools.offer("ada")
    assert (tools.status("ada"), [link.bot for link in given]) == ("offered", ["ada"])
    assert desk.works(given[0].token)
    desk.takeovers.release("ada")
    assert await tools.finished("ada", BOUND_S) == "released"
