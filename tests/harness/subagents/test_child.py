"""The child's end against a parent with pages in memory: it always answers, and says why."""

import asyncio
import stat
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import SetupError, UsageError
from harness.subagents import connection, launch
from harness.subagents.child import Answer, NotConnected, connect, read_loadout
from harness.subagents.frames import FrameUnwritable
from harness.subagents.launch import SubagentHost, subagent_host
from harness.subagents.roll import Roll
from harness.tools.modes import ALL_TOOLS, Agent

if TYPE_CHECKING:
    from tests.harness.subagents.conftest import Fake

WORKER = Agent(kind="worker")
BOUND_S = 20.0


async def test_a_call_is_answered_with_text_and_data(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
        answer = await browser.call("browser_eval", {"expression": "x"})
        assert (browser.owner, sorted(browser.tools)) == ("child-1", sorted(ALL_TOOLS))
    assert answer == Answer(ok=True, text='"x"', details={"result": "x"})


@pytest.mark.parametrize(
    ("expression", "kind", "text"),
    [
        (
            "large",
            "too_large",
            "the answer of browser_eval is too large: it has 600154 bytes, and at most 262144 fit",
        ),
        ("surrogate", "failed", "browser_eval failed: a fault of the host"),
        ("throw", "failed", 'browser_eval failed: it threw "Error: no"'),
    ],
)
async def test_an_answer_that_cannot_be_sent_is_an_error_and_no_time_out(
    fake: "Fake", expression: str, kind: str, text: str
) -> None:
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _loop, _context: None)  # a page of ours never gives a lone surrogate
    try:
        async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
            async with asyncio.timeout(BOUND_S):
                answer = await browser.call("browser_eval", {"expression": expression})
            assert (await browser.call("browser_eval", {"expression": "next"})).ok
    finally:
        loop.set_exception_handler(handler)
    assert (answer.ok, answer.error, answer.text) == (False, kind, text)


@pytest.mark.parametrize(
    ("tool", "params", "kind"),
    [
        ("browser_fill", {"selector": "#a", "value": "\x01" * 90_000}, "too_large"),
        ("browser_eval", {"expression": "\ud800"}, "bad_request"),
        ("browser_eval", {"expression": 2**80}, "bad_request"),
        ("browser_eval", {"expression": object()}, "bad_request"),
        ("browser_eval", {"expression": b"x"}, "bad_request"),
        ("browser_eval\n", {}, "bad_request"),
        ("", {}, "bad_request"),
        ("x" * 65, {}, "bad_request"),
    ],
)
async def test_a_call_that_cannot_be_sent_is_answered_at_once(
    fake: "Fake", tool: str, params: dict[str, Any], kind: str
) -> None:
    async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
        answer = await browser.call(tool, params)
        assert (answer.ok, answer.error) == (False, kind)
        assert (await browser.call("browser_eval", {"expression": "next"})).ok
    assert fake.host.counts == {}


async def test_many_calls_at_once_are_refused_beyond_a_bound_and_none_is_crossed(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
        calls = [asyncio.create_task(browser.call("browser_eval", {"expression": "hang"})) for _ in range(8)]
        while not fake.browser.pages:  # noqa: ASYNC110 - the page is made by a task of the registry
            await asyncio.sleep(0.01)
        await fake.browser.pages[0].holding.wait()
        more = await browser.call("browser_eval", {"expression": "1"})
        assert (more.error, more.text) == ("refused", "8 calls are under way; wait for one of them")
        await fake.pages.reap("child-1")
        assert {(await call).text for call in calls} == {"browser_eval failed: the page was closed"}
        own = await asyncio.gather(*(browser.call("browser_eval", {"expression": f"v{n}"}) for n in range(8)))
    assert [answer.text for answer in own] == [f'"v{n}"' for n in range(8)]


async def test_a_parent_that_goes_ends_all_calls(fake: "Fake") -> None:
    async def mode() -> str:
        return "Build"

    async with subagent_host(fake.pages, mode) as host:
        place = await_entered = host.place(WORKER)
        launched = await await_entered.__aenter__()
        browser_context = connect(launched.loadout)
        browser = await browser_context.__aenter__()
        call = asyncio.create_task(browser.call("browser_eval", {"expression": "hang"}))
        while not fake.browser.pages:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await fake.browser.pages[0].holding.wait()
    try:
        answer = await call
        assert answer.error in ("aborted", "disconnected")
        await browser.gone.wait()
        assert (await browser.call("browser_eval", {"expression": "1"})).error == "disconnected"
        assert fake.pages.owners() == ()
        with pytest.raises(NotConnected):
            async with connect(launched.loadout):
                pass
    finally:
        await browser_context.__aexit__(None, None, None)
        await place.__aexit__(None, None, None)


async def test_a_report_ends_the_run_and_a_resumed_child_keeps_its_owner(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
        await browser.call("browser_eval", {"expression": "1"})
        await browser.report({"verdict": "fine"})
        async with asyncio.timeout(BOUND_S):
            assert await place.result() == {"verdict": "fine"}
        late = await browser.call("browser_eval", {"expression": "1"})
        assert (late.error, late.text) == ("refused", "browser_eval refused: the run of child-1 has ended")
        with pytest.raises(UsageError):
            async with fake.host.place(WORKER, "child-1"):
                pass
    assert fake.pages.owners() == ()

    async with fake.host.place(WORKER) as second, fake.host.place(WORKER, "child-1") as resumed:
        assert (second.owner, resumed.owner) == ("child-2", "child-1")
        async with connect(resumed.loadout) as browser:
            assert (await browser.call("browser_eval", {"expression": "1"})).ok
    for owner in ("parent", "child-9", "child-0", "nobody"):
        with pytest.raises(UsageError):
            async with fake.host.place(WORKER, owner):
                pass


@pytest.mark.parametrize("payload", [{"x": object()}, {"x": b"x"}, {"x": "\ud800"}, {1: 2}])
async def test_a_report_that_cannot_be_written_is_refused_and_the_run_goes_on(
    fake: "Fake", payload: dict[str, Any]
) -> None:
    async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
        with pytest.raises(FrameUnwritable):
            await browser.report(payload)
        assert (await browser.call("browser_eval", {"expression": "next"})).ok


async def test_a_token_is_for_one_run_alone(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place:
        loadout = place.loadout.read_bytes()
    async with fake.host.place(WORKER, "child-1") as resumed:
        resumed.loadout.write_bytes(loadout)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("harness.subagents.child.CONNECT_S", 0.2)
            with pytest.raises(NotConnected):
                async with connect(resumed.loadout):
                    pass
    assert fake.host.counts["wrong_token"] == 1


async def test_socket_folder_and_loadout_are_the_users_alone(fake: "Fake") -> None:
    async with fake.host.place(WORKER) as place:
        paths = (fake.host.socket, fake.host.socket.parent, place.loadout, place.loadout.parent)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in paths]
        token = read_loadout(place.loadout).token
        assert (modes, len(token), token in repr(place)) == ([0o600, 0o700, 0o600, 0o700], 64, False)


async def test_what_is_no_socket_is_kept(fake: "Fake", monkeypatch: pytest.MonkeyPatch) -> None:
    async def mode() -> str:
        return "Build"

    class Elsewhere(SubagentHost):
        @property
        def socket(self) -> Any:
            return path

    path = fake.host.socket.parent / "taken"
    path.write_text("mine")
    monkeypatch.setattr("harness.subagents.launch.SubagentHost", Elsewhere)
    with pytest.raises(SetupError):
        async with subagent_host(fake.pages, mode):
            pass
    assert path.read_text() == "mine"


async def test_who_says_nothing_is_not_kept(fake: "Fake", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HELLO_S", 0.1)
    reader, writer = await asyncio.open_unix_connection(fake.host.socket)
    async with asyncio.timeout(BOUND_S):
        assert await reader.read() == b""
    writer.close()
    assert fake.host.counts == {"too_slow": 1}


def test_a_number_only_rises() -> None:
    roll = Roll()
    first = roll.enter(ALL_TOOLS)
    roll.leave(first)
    assert (roll.enter(ALL_TOOLS).owner, roll.holds("child-1"), roll.holds("parent")) == ("child-2", None, ALL_TOOLS)


async def test_a_run_has_a_bound_whoever_runs_the_child(fake: "Fake", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "RUN_S", 0.2)
    async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
        call = asyncio.create_task(browser.call("browser_eval", {"expression": "hang"}))
        async with asyncio.timeout(5):
            assert await place.result() is None
            answer = await call
        after = await browser.call("browser_eval", {"expression": "1"})
        assert answer == Answer(ok=False, text="browser_eval failed: the page was closed", error="failed")
        assert after == Answer(ok=False, text="browser_eval refused: the run of child-1 has ended", error="refused")
        assert fake.pages.owners() == ()


async def test_an_idle_childs_page_ends_and_its_run_goes_on(fake: "Fake", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "IDLE_S", 0.2)
    async with fake.host.place(WORKER) as place, connect(place.loadout) as browser:
        for n in range(2):
            assert (await browser.call("browser_eval", {"expression": "1"})).ok
            async with asyncio.timeout(5):
                await fake.browser.pages[n].closed.wait()
            assert fake.pages.owners() == ()
        assert not place.child.ended.is_set()
        hanging = asyncio.create_task(browser.call("browser_eval", {"expression": "hang", "timeout": 1000}))
        answer = await hanging  # a call under way is no idleness
        assert answer == Answer(ok=False, text="browser_eval timed out after 1000 milliseconds", error="timed_out")
