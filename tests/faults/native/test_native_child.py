"""A child that deviates, at its start or later: one sentence, and neither it nor its Chromium nor a folder is left."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.drivers.agent_queue import Bounds
from harness.drivers.native_pin import NativeBinary
from harness.errors import DriverError
from observe.errors import DriverGone, TimedOut

if TYPE_CHECKING:
    from tests.faults.native.conftest import StartNative

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process's end by a Linux call"),
]

StandIn = Callable[..., NativeBinary]

NOT_STARTED = "the native driver did not start: "
TOO_LONG = "The browser driver's answer was too long; the browser was ended."
UNKNOWN = "The browser driver gave an answer of an unknown form; the browser was ended."
ENDED = "The browser driver ended."
NOT_PINNED = "the native driver is not pinned to the tab that it was given"
STREAM = "the native driver's live stream cannot be switched off"

DEVIATIONS = {
    "version other": 'the running native driver is version "9.8.6", not 9.8.7',
    "version missing": "the running native driver does not tell its version: No such file or directory",
    "start exits": "the native driver ended at its start with exit code 3",
    "stream_disable ignored": STREAM,
    "stream_disable file stays": STREAM,
    "stream_status port": STREAM,
    "stream_disable refused": "the native driver refused the step stream_disable of its start",
    "launch refused": "the native driver refused the step launch of its start",
    "launch own browser": "the native driver launched a browser of its own",
    "launch opens a tab": "the native driver opened a tab",
    "launch half": NOT_STARTED + ENDED,
    "tab_list other": NOT_PINNED,
    "tab_list none": NOT_PINNED,
    "tab_list no list": NOT_PINNED,
    "tab_list broken": NOT_STARTED + UNKNOWN,
}
HANGS = ("socket none", "launch silent")
FAULTS = {
    "snapshot broken": UNKNOWN,
    "snapshot list": UNKNOWN,
    "snapshot deep": UNKNOWN,
    "snapshot wrong id": UNKNOWN,
    "snapshot half": ENDED,
}


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    """Makes an executable stand-in that deviates as said: a step, then what it does wrong there."""

    def make(deviation: str = "", **further: int) -> NativeBinary:
        source = Path(__file__).with_name("stand_in.py").read_text(encoding="utf-8")
        path = tmp_path / "agent-browser"
        path.write_text(f"#!{sys.executable} -I\n" + source.partition("\n")[2], encoding="utf-8")
        path.chmod(0o755)
        step, _, fault = deviation.partition(" ")
        (tmp_path / "plan.json").write_text(json.dumps({"step": step, "fault": fault, **further}))
        return NativeBinary(path=path, version="9.8.7", sha256="", platform="linux-x64")

    return make


async def refused(start: "StartNative", binary: NativeBinary, bounds: Bounds | None = None) -> str:
    """The sentence with which the first tab is refused; Chromium has ended, and the child's folder is gone."""
    async with start(binary, bounds) as native:
        chrome = native.endpoint.pid
        with pytest.raises(DriverError) as caught:
            await native.driver.first_page()
        assert await native.gone(chrome)
        assert list(native.temp.glob("axtrial-*")) == [native.endpoint.profile.parent]
    return caught.value.message


@pytest.mark.parametrize("deviation", DEVIATIONS)
async def test_a_deviation_in_the_start(deviation: str, stand_in: StandIn, start_native: "StartNative") -> None:
    assert await refused(start_native, stand_in(deviation)) == DEVIATIONS[deviation]


@pytest.mark.parametrize("deviation", HANGS)
async def test_a_start_that_hangs(deviation: str, stand_in: StandIn, start_native: "StartNative") -> None:
    message = await refused(start_native, stand_in(deviation), Bounds(start_s=1.0))
    assert message == "the native driver was not ready within 1 s"


async def test_what_cannot_be_executed(stand_in: StandIn, start_native: "StartNative") -> None:
    binary = stand_in()
    binary.path.chmod(0o644)
    assert await refused(start_native, binary) == (
        f'the native driver did not start: "{binary.path}" could not be started: Permission denied'
    )


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_wrong_answer(fault: str, stand_in: StandIn, start_native: "StartNative") -> None:
    async with start_native(stand_in(fault)) as native:
        page = await native.driver.first_page()
        with pytest.raises(DriverGone) as caught:
            await page.read_ax()
        assert caught.value.message == FAULTS[fault]
        assert await native.gone(native.child(), native.endpoint.pid)


async def test_no_answer_and_deaf_to_the_polite_signal(stand_in: StandIn, start_native: "StartNative") -> None:
    async with start_native(stand_in("snapshot deaf"), Bounds(snapshot_s=0.5)) as native:
        page = await native.driver.first_page()
        with pytest.raises(TimedOut):
            await page.read_ax()
        assert await native.gone(native.child(), native.endpoint.pid)


@pytest.mark.parametrize("less", [0, 1])
async def test_a_long_answer(less: int, stand_in: StandIn, start_native: "StartNative") -> None:
    chars = 8 * 1024 * 1024
    line = len('{"id": "7", "success": true, "data": {"snapshot": ""}}') + chars
    async with start_native(stand_in(chars=chars), Bounds(reply_bytes=line - less)) as native:
        page = await native.driver.first_page()
        if not less:
            assert len((await page.read_ax()).text) == chars
            return
        with pytest.raises(DriverGone) as caught:
            await page.read_ax()
        assert caught.value.message == TOO_LONG
        assert await native.gone(native.child(), native.endpoint.pid)
