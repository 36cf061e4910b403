"""A child process and its folder are gone when the owner leaves, whatever happens; leftovers are swept."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from harness import leftovers
from harness.errors import ProcessNotStarted, SetupError
from harness.leftovers import Record, Started, living_users, new_folder, sweep_leftovers
from harness.process import MAX_CAPTURE_BYTES, Command, finish, owned_process, private_folder

BOUND_S = 20.0


@pytest.fixture(autouse=True)
def own_temp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp folder that no other test sweeps; at the end of the test it is empty."""
    with tempfile.TemporaryDirectory(prefix="ax") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert list(Path(name).iterdir()) == []


def shell(script: str, folder: Path, **more: float | bool) -> Command:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return Command(argv=("/bin/sh", "-c", script), environment=environment, **more)  # type: ignore[arg-type]


async def test_output_end_and_code() -> None:
    async with private_folder() as folder:
        command = shell("echo out; echo 'last \x07 words' >&2; exit 3", folder, keep_output=True)
        async with owned_process(command, folder) as process:
            code = await asyncio.wait_for(process.wait(), BOUND_S)

            assert (code, process.stdout, process.last_line()) == (3, "out\n", '"last \\u0007 words"')


async def test_environment_and_folder_are_private(own_temp: Path) -> None:
    async with private_folder() as folder:
        command = Command(argv=("/usr/bin/env",), environment={"A": "1"}, keep_output=True)
        async with owned_process(command, folder) as process:
            await asyncio.wait_for(process.wait(), BOUND_S)

            assert process.stdout == "A=1\n"
            assert re.fullmatch(f"axtrial-{os.getpid()}-[a-z0-9_]+", folder.name)
            assert (folder.parent, folder.stat().st_mode & 0o777) == (own_temp, 0o700)


async def test_capture_is_bounded() -> None:
    async with private_folder() as folder:
        command = shell(f"head -c {3 * MAX_CAPTURE_BYTES} /dev/zero >&2; echo end >&2", folder)
        async with owned_process(command, folder) as process:
            await asyncio.wait_for(process.wait(), BOUND_S)

            assert (len(process.stderr), process.stderr[-4:]) == (MAX_CAPTURE_BYTES, "end\n")


async def test_find_waits_for_the_line_and_sees_the_end() -> None:
    async with private_folder() as folder:
        command = shell("read line; echo got $line >&2", folder, close_s=1.0)
        async with owned_process(command, folder) as process:
            process.write(b"word\n")
            found = await asyncio.wait_for(process.find(re.compile(r"got (\w+)\n")), BOUND_S)
            assert found is not None
            assert found.group(1) == "word"
            assert await asyncio.wait_for(process.find(re.compile("never")), BOUND_S) is None


async def test_stdin_end_is_enough_for_a_child_that_listens() -> None:
    async with private_folder() as folder:
        async with owned_process(shell("cat; exit 7", folder, close_s=BOUND_S), folder) as process:
            assert process.returncode is None
        assert process.returncode == 7


async def test_stubborn_group_is_killed() -> None:
    async with private_folder() as folder:
        script = "trap '' TERM; sleep 1000 & echo ready >&2; wait; sleep 1000"
        async with owned_process(shell(script, folder, term_s=0.1), folder) as process:
            await asyncio.wait_for(process.find(re.compile("ready\n")), BOUND_S)
            assert len(living_users(folder, process.pid)) == 2
        assert process.returncode == -9
        assert living_users(folder, process.pid) == []


async def test_child_that_leaves_the_group_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.process.GONE_S", 0.1)
    async with private_folder() as folder:
        async with owned_process(shell("setsid sleep 1000 & echo ready >&2; wait", folder), folder) as process:
            await asyncio.wait_for(process.find(re.compile("ready\n")), BOUND_S)
        assert living_users(folder, None) == []


async def test_missing_program() -> None:
    async with private_folder() as folder:
        with pytest.raises(ProcessNotStarted) as caught:
            async with owned_process(Command(argv=("/none",), environment={}), folder):
                pass

    assert caught.value.message == '"/none" could not be started: No such file or directory'


async def test_program_that_is_not_executable(tmp_path: Path) -> None:
    program = tmp_path / "text"
    program.touch(mode=0o644)
    async with private_folder() as folder:
        with pytest.raises(ProcessNotStarted) as caught:
            async with owned_process(Command(argv=(str(program),), environment={}), folder):
                pass

    assert caught.value.message == f'"{program}" could not be started: Permission denied'


@pytest.mark.skipif(sys.platform == "win32", reason="Windows gives no open files on by number")
@pytest.mark.parametrize("tied", [True, False])
async def test_kept_files_stay_open_under_their_numbers(tied: bool) -> None:
    reading, writing = os.pipe()
    async with private_folder() as folder:
        command = shell(f"echo through >/dev/fd/{writing}", folder, tied=tied)
        async with owned_process(replace(command, kept=(writing,)), folder) as process:
            os.close(writing)
            await asyncio.wait_for(process.wait(), BOUND_S)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == b"through\n"


async def test_unwritable_temp_folder(monkeypatch: pytest.MonkeyPatch, own_temp: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(own_temp / "none"))

    with pytest.raises(SetupError) as caught:
        async with private_folder():
            pass

    assert caught.value.message == f"no folder can be made in {own_temp}/none: No such file or directory"


async def test_cancelled_owner_ends_the_child() -> None:
    running: asyncio.Future[tuple[int, Path]] = asyncio.get_running_loop().create_future()

    async def own() -> None:
        async with private_folder() as folder, owned_process(shell("sleep 1000", folder), folder) as process:
            running.set_result((process.pid, folder))
            await asyncio.Event().wait()

    owner = asyncio.create_task(own())
    pid, folder = await asyncio.wait_for(running, BOUND_S)
    owner.cancel()
    with pytest.raises(asyncio.CancelledError):
        await owner

    assert (living_users(folder, pid), folder.exists()) == ([], False)


async def test_cleanup_is_not_interrupted_by_cancellation() -> None:
    steps: list[str] = []
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def cleanup() -> None:
        begun.set()
        await go_on.wait()
        steps.append("cleaned")

    task = asyncio.create_task(finish(cleanup()))
    await begun.wait()
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert steps == ["cleaned"]


def dead_owner() -> Started:
    """The record of a process that has just ended."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = psutil.Process(child.pid).create_time()
    child.communicate(b"\n")
    return Started(pid=child.pid, started=started)


def give(folder: Path, **changes: object) -> None:
    """Change the folder's record."""
    text = (folder / leftovers.RECORD).read_text()
    record = Record.model_validate_json(text).model_copy(update=changes)
    (folder / leftovers.RECORD).write_text(record.model_dump_json())


def test_sweep_takes_the_folder_of_a_dead_owner() -> None:
    folder = new_folder()
    give(folder, owner=dead_owner())

    assert sweep_leftovers() == [folder]


def test_sweep_ends_the_recorded_child() -> None:
    folder = new_folder()
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as child:
        started = psutil.Process(child.pid).create_time()
        give(folder, owner=dead_owner(), children=[Started(pid=child.pid, started=started)])

        assert (sweep_leftovers(), child.wait(BOUND_S)) == ([folder], -9)


def test_sweep_spares_a_process_that_only_has_the_number() -> None:
    folder = new_folder()
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as child:
        started = psutil.Process(child.pid).create_time()
        give(folder, owner=dead_owner(), children=[Started(pid=child.pid, started=started - 3600)])

        assert (sweep_leftovers(), child.poll()) == ([folder], None)
        child.kill()


def test_sweep_spares_living_distant_and_new_ones(own_temp: Path) -> None:
    living, elsewhere, unwritten = new_folder(), new_folder(), own_temp / "axtrial-999999999-new"
    give(elsewhere, owner=dead_owner(), space="another machine")
    unwritten.mkdir()
    link = own_temp / "axtrial-999999999-link"
    link.symlink_to(elsewhere)

    assert sweep_leftovers() == []

    link.unlink()
    for folder in (living, elsewhere, unwritten):
        shutil.rmtree(folder)


def test_sweep_spares_other_users(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_folder()
    give(folder, owner=dead_owner())

    with monkeypatch.context() as patched:
        patched.setattr(leftovers, "_user", lambda: folder.stat().st_uid + 1)
        assert sweep_leftovers() == []
    assert sweep_leftovers() == [folder]


def test_sweep_takes_an_old_folder_without_record(own_temp: Path) -> None:
    folder = own_temp / "axtrial-999999999-old"
    folder.mkdir()
    os.utime(folder, (0, 0))

    assert sweep_leftovers() == [folder]
