"""What children can do wrong, as real processes against a parent with a real Chromium: only they are worse off."""

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from harness.subagents import connection
from harness.subagents.messages import BrowserResult

if TYPE_CHECKING:
    from tests.faults.subagents.conftest import Parent, Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

BOUND_S = 40.0
NEVER = "fetch('/hit').then(() => new Promise(() => {}))"


def error(answer: BrowserResult) -> tuple[str, str]:
    assert answer.error is not None, answer
    return answer.error.kind, answer.error.message


async def test_a_child_that_is_killed_in_mid_call_gives_its_place_back(parent: "Parent", site: "Site") -> None:
    script = f"line = Line(); line.hello(); line.ask('1', 'browser_goto', url={site.address!r}); "
    async with parent.child(script + f"line.ask('2', 'browser_eval', expression={NEVER!r})") as child:
        await parent.until(lambda: "/hit" in site.paths)
        assert parent.pages.owners() == ("child-1",)
        assert child.process is not None
        os.kill(child.process.pid, signal.SIGKILL)
        async with asyncio.timeout(BOUND_S):
            assert await child.result() is None
        await parent.no_pages()

    assert await parent.evaluate("6 * 7") == "42"


async def test_a_child_that_floods_is_cut_off_and_nobody_else_waits_for_it(parent: "Parent") -> None:
    flood = """
line = Line(); line.hello()
try:
    for n in range(200):
        line.send(*(call(f"{n}-{m}", "browser_eval", expression="1") for m in range(100)))
except OSError as error:
    sys.stdout.write(type(error).__name__)
while line.read() is not None:
    pass
"""
    async with parent.child(flood):
        for n in range(20):
            assert await parent.evaluate(f"{n} * 2") == str(n * 2)
        await parent.until(lambda: parent.host.counts["flood"] == 1)
        await parent.no_pages("parent")

    assert await parent.ran(
        "line = Line(); line.hello(); line.report(line.ask('1', 'browser_eval', expression='3'))"
    ) == {
        "kind": "result",
        "requestId": "1",
        "owner": "child-2",
        "ok": True,
        "result": {"text": "3", "details": {"result": 3}},
        "error": None,
    }


@pytest.mark.parametrize("bytes_sent", ["struct.pack('>I', 100) + b'{'", "b'\\0\\0'"])
async def test_half_a_frame_is_waited_for_within_a_bound(
    parent: "Parent", monkeypatch: pytest.MonkeyPatch, bytes_sent: str
) -> None:
    monkeypatch.setattr(connection, "FRAME_S", 0.2)
    script = f"""
line = Line(); line.hello(); line.ask("1", "browser_eval", expression="1")
line.socket.sendall({bytes_sent})
assert line.read() is None
again = Line(); again.report(again.hello())
"""
    assert await parent.ran(script) == {"kind": "ownership", "owner": "child-1"}
    assert parent.host.counts == {"too_slow": 1}
    await parent.no_pages()


@pytest.mark.parametrize(
    ("bytes_sent", "counted"),
    [
        ("struct.pack('>I', 262_145) + b'{' * 300_000", {"broken_frame": 1}),
        ("struct.pack('>I', 100_000_000) + b'x' * 1_000_000", {"broken_frame": 1}),
        ("struct.pack('>I', 0)", {"broken_frame": 1}),
        ("struct.pack('>I', 2) + b'[]'", {"broken_frame": 1}),
        ("struct.pack('>I', 2) + b'{x'", {"broken_frame": 1}),
        ("b'GET / HTTP/1.1\\r\\n\\r\\n'", {"broken_frame": 1}),
    ],
)
async def test_bytes_that_are_no_frame_end_the_connection(
    parent: "Parent", bytes_sent: str, counted: dict[str, int]
) -> None:
    script = f"""
line = Line(); line.hello()
try:
    line.socket.sendall({bytes_sent})
except OSError:
    pass
assert line.read() is None
again = Line(); again.report(again.hello())
"""
    assert await parent.ran(script) == {"kind": "ownership", "owner": "child-1"}
    assert parent.host.counts == counted


async def test_a_wrong_token_is_dropped_and_after_a_few_the_connection_ends(parent: "Parent") -> None:
    script = """
line = Line()
for _ in range(3):
    line.send({**said(kind="hello"), "token": "0" * 64})
assert line.read() is None
line = Line(); line.hello()
line.send({**call("1", "browser_eval", expression="'stolen'"), "token": "wrong"})
line.report(line.ask("2", "browser_eval", expression="'mine'"))
"""
    report = await parent.ran(script)
    assert isinstance(report, dict)
    assert (report["requestId"], report["result"]) == ("2", {"text": '"mine"', "details": {"result": "mine"}})
    assert parent.host.counts == {"wrong_token": 4, "wrong_tokens": 1}


async def test_a_child_can_never_speak_as_another(parent: "Parent") -> None:
    """Not by its name, not by a frame in its name, and not even with its token: the kernel knows who connects."""
    waits = "line = Line(); line.hello(); line.ask('1', 'browser_eval', expression='window.mine = 1'); line.read()"
    thief = """
other = json.loads(open(sys.argv[1], "rb").read())
line = Line(); line.send({**said(kind="hello"), "owner": other["owner"]}); line.hello()
line.send({**call("1", "browser_close"), "owner": other["owner"]})
line.send({**call("2", "browser_close"), "owner": "parent"})
line.send({**call("3", "browser_eval", expression="1"), "payload": {"tool": "browser_close", "owner": other["owner"]}})
answers = [line.read(), line.ask("4", "browser_eval", expression="window.mine ?? 'none'")]
stolen = Line(); stolen.send({"kind": "hello", "owner": other["owner"], "token": other["token"]})
answers.append(stolen.read())
line.report({"answers": answers})
"""
    async with parent.child(waits) as victim:
        await parent.until(lambda: parent.pages.page("child-1") is not None)
        report = await parent.ran(thief, str(victim.loadout))
        assert parent.pages.page("child-1") is not None

    malformed = {"kind": "bad_request", "message": 'the frame is malformed: "browser.payload.owner"'}
    common = {"kind": "result", "owner": "child-2"}
    assert report == {
        "answers": [
            {**common, "requestId": "3", "ok": False, "result": None, "error": malformed},
            {
                **common,
                "requestId": "4",
                "ok": True,
                "result": {"text": '"none"', "details": {"result": "none"}},
                "error": None,
            },
            None,
        ]
    }
    assert parent.host.counts == {"wrong_token": 1, "foreign_owner": 2, "malformed": 1, "foreign_peer": 1}


async def test_a_replayed_request_is_carried_out_once(parent: "Parent") -> None:
    script = """
line = Line(); line.hello()
count = call("1", "browser_eval", expression="window.n = (window.n ?? 0) + 1")
line.send(count, count); first = line.read()
line.send(count)
then = line.ask("2", "browser_eval", expression="window.n")
line.report({"texts": [first["result"]["text"], then["result"]["text"]]})
"""
    assert await parent.ran(script) == {"texts": ["1", "1"]}
    assert parent.host.counts == {"replayed": 2}


async def test_a_hundred_megabytes_are_answered_in_time(parent: "Parent") -> None:
    script = """
line = Line(); line.hello()
whole = line.ask("1", "browser_eval", expression="'x'.repeat(100_000_000)")["result"]["text"]
many = line.ask("2", "browser_eval", expression="Array(5e6).fill('äö')")["result"]["text"]
line.report({"whole": [whole[:4], whole[-43:], len(whole)],
             "many": [many[:6], many[-33:], len(many.encode()) < 100_000]})
"""
    assert await parent.ran(script) == {
        "whole": ['"xxx', 'xxxxxx[cut: 65530 of 100000000 characters]"', 65_568],
        "many": ['["äö",', '"[cut: 8192 of 5000000 entries]"]', True],
    }


async def test_the_fifth_owner_is_told_the_cap_and_gets_the_place_that_becomes_free(parent: "Parent") -> None:
    holds = "line = Line(); line.hello(); line.ask('1', 'browser_eval', expression='1'); line.read()"
    asks = "line = Line(); line.hello(); line.report(line.ask('1', 'browser_eval', expression='5'))"
    async with parent.child(holds) as first, parent.child(holds), parent.child(holds):
        await parent.until(lambda: len(parent.pages.owners()) == 3)
        assert await parent.evaluate("4") == "4"  # the parent's place is kept
        refused = await parent.ran(asks)
        assert isinstance(refused, dict)
        assert refused["error"] == {
            "kind": "refused",
            "message": "browser_eval failed: 3 pages of subagents are open beside the parent's (4 in all), "
            "and no more are allowed; one of them must be closed first.",
        }
        assert first.process is not None
        os.kill(first.process.pid, signal.SIGKILL)
        await parent.no_pages("parent", "child-2", "child-3")
        taken = await parent.ran(asks)
        assert isinstance(taken, dict)
        assert taken["ok"] is True
    assert parent.pages.most == 4


async def test_an_owner_that_connects_twice_is_refused_and_one_that_reconnects_has_a_new_page(parent: "Parent") -> None:
    script = """
line = Line(); line.hello(); line.ask("1", "browser_eval", expression="window.mine = 1")
second = Line(); refused = second.hello(); assert second.read() is None
still = line.ask("2", "browser_eval", expression="window.mine")["result"]["text"]
line.socket.close()
again = Line(); answer = again.hello()
again.report({"refused": refused, "still": still, "again": answer,
              "page": again.ask("1", "browser_eval", expression="window.mine ?? 'blank'")["result"]["text"]})
"""
    report = await parent.ran(script)
    assert report == {
        "refused": {"kind": "refused", "message": "child-1 is connected already"},
        "still": "1",
        "again": {"kind": "ownership", "owner": "child-1"},
        "page": '"blank"',
    }
    assert parent.host.counts == {"second_connection": 1}
    await parent.no_pages()
