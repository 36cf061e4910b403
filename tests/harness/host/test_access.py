"""The flag Browser Access survives the host, other processes beside it, damage and a full disk."""

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.errors import AxtrialError
from harness.host import access
from harness.host.access import MAX_BOTS, AccessError, AccessRefused, AccessUnreadable, BrowserAccess, access_file


def kept(folder: Path, text: str) -> Path:
    """A file with that text."""
    path = access_file(folder)
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def test_a_bot_is_off_until_it_is_switched_on(tmp_path: Path) -> None:
    flags = BrowserAccess(tmp_path)
    assert (dict(flags), len(flags), flags.get("ada", False), "ada" in flags) == ({}, 0, False, False)
    assert list(tmp_path.iterdir()) == []

    flags["ada"] = True
    flags["bob"] = False
    assert dict(BrowserAccess(tmp_path)) == {"ada": True, "bob": False}
    assert flags.path.read_text(encoding="utf-8") == '{"version":1,"access":{"ada":true,"bob":false}}'

    del flags["ada"]
    assert dict(BrowserAccess(tmp_path)) == {"bob": False}
    with pytest.raises(KeyError):
        del flags["ada"]


def test_folder_and_files_are_the_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "access").mkdir(mode=0o755)
    flags = BrowserAccess(tmp_path)
    flags["ada"] = True

    modes = {path.name: path.stat().st_mode & 0o777 for path in flags.path.parent.iterdir()}
    assert modes == {"access.json": 0o600, "access.lock": 0o600}
    assert flags.path.parent.stat().st_mode & 0o777 == 0o700


def test_two_hosts_keep_each_others_flags(tmp_path: Path) -> None:
    one, other = BrowserAccess(tmp_path), BrowserAccess(tmp_path)
    one["ada"] = True
    other["bob"] = True
    one["eve"] = True
    other["ada"] = False
    assert dict(one) == dict(other) == {"ada": False, "bob": True, "eve": True}


def test_processes_beside_each_other_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from harness.host.access import BrowserAccess\n"
        "flags = BrowserAccess(Path(sys.argv[1]))\n"
        "for n in range(10): flags[f'{sys.argv[2]}-{n}'] = True\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in ("a", "b")]
    assert [child.wait(30) for child in children] == [0, 0]
    assert dict(BrowserAccess(tmp_path)) == {f"{name}-{n}": True for name in ("a", "b") for n in range(10)}


def test_a_change_waits_for_no_longer_than_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "LOCK_TIMEOUT_S", 0.01)
    flags = BrowserAccess(tmp_path)
    flags["ada"] = True
    with closing(sqlite3.connect(flags.path.with_name("access.lock"), isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        with pytest.raises(AccessError) as caught:
            flags["ada"] = False

    assert caught.value.message == f'the file "{flags.path}" cannot be changed: database is locked'
    assert dict(flags) == {"ada": True}
    flags["ada"] = False


DAMAGED = 'the file "{path}" is damaged; repair it, or remove it, and every bot is off'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", DAMAGED),
        ("\x00", DAMAGED),
        ("[]", DAMAGED),
        ('{"version":1,"access":{"ada":true}', DAMAGED),
        ('{"version":1}', DAMAGED),
        ('{"version":1,"access":{"ada":1}}', DAMAGED),
        ('{"version":1,"access":{"ada":"true"}}', DAMAGED),
        ('{"version":1,"access":{},"more":0}', DAMAGED),
        ('{"version":true,"access":{}}', DAMAGED),
        ('{"version":1,"access":{"":true}}', DAMAGED),
        ('{"version":1,"access":{"a\\nb":true}}', DAMAGED),
        ('{"version":1,"access":{' + ",".join(f'"b{n}":true' for n in range(MAX_BOTS + 1)) + "}}", DAMAGED),
        (" " * (access.MAX_FILE_BYTES + 1), DAMAGED),
        ('{"version":2,"access":{}}', 'the file "{path}" has version 2; this axtrial knows 1'),
        ('{"version":0,"flags":[]}', 'the file "{path}" has version 0; this axtrial knows 1'),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path, text: str, sentence: str) -> None:
    path = kept(tmp_path, text)
    flags = BrowserAccess(tmp_path)

    def switch() -> None:
        flags["ada"] = True

    looks: tuple[Callable[[], object], ...] = (lambda: flags.get("ada", False), lambda: dict(flags), switch)
    for look in looks:
        with pytest.raises(AccessUnreadable) as caught:
            look()
        assert caught.value.message == sentence.format(path=path)
    assert path.read_text(encoding="utf-8") == text


def test_a_file_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    flags = BrowserAccess(tmp_path)
    flags.path.mkdir(parents=True)
    with pytest.raises(AccessUnreadable) as caught:
        flags.get("ada", False)
    assert caught.value.message == f'the file "{flags.path}" cannot be read: Is a directory'


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_the_flags_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    flags = BrowserAccess(tmp_path)
    flags["ada"] = True

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(step, full)
        for change in (lambda: flags.update(ada=False), lambda: flags.update(bob=True), lambda: flags.pop("ada")):
            with pytest.raises(AccessError) as caught:
                change()
            assert caught.value.message == f'the file "{flags.path}" cannot be written: No space left on device'

    assert dict(flags) == {"ada": True}
    assert sorted(path.name for path in flags.path.parent.iterdir()) == ["access.json", "access.lock"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "access").write_text("in the way")
    flags = BrowserAccess(tmp_path)
    with pytest.raises(AxtrialError) as caught:
        flags["ada"] = True
    assert caught.value.message == f'the file "{flags.path}" cannot be written: File exists'


@pytest.mark.parametrize("name", ["", " ada", "ada ", "a\nb", "a\x1bb", "\ud800", "a\u202eb", "x" * 81])
def test_a_wrong_name_is_refused_at_a_change_and_off_at_a_look(tmp_path: Path, name: str) -> None:
    flags = BrowserAccess(tmp_path)
    with pytest.raises(AccessRefused):
        flags[name] = True
    assert flags.get(name, False) is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 80, "\U0001f916" * 80, "Ada Lovelace", "../b/'\"<&>", "\\" * 80])
def test_any_readable_name_is_kept(tmp_path: Path, name: str) -> None:
    BrowserAccess(tmp_path)[name] = True
    assert dict(BrowserAccess(tmp_path)) == {name: True}


def test_there_is_room_for_a_thousand_bots_and_no_more(tmp_path: Path) -> None:
    path = kept(tmp_path, '{"version":1,"access":{' + ",".join(f'"b{n}":true' for n in range(MAX_BOTS)) + "}}")
    flags = BrowserAccess(tmp_path)
    with pytest.raises(AccessRefused) as caught:
        flags["ada"] = True
    assert caught.value.message == f'the file "{path}" has flags of 1000 bots already; take some out first'
    flags["b0"] = False
    assert (len(flags), flags["b0"], "ada" in flags) == (MAX_BOTS, False, False)
