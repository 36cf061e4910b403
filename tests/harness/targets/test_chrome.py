"""Chrome is found in the agreed order, and every failure is told in words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config import Settings, Surroundings
from harness.errors import ChromeNotFound, ChromeSettingWrong, SetupError
from harness.targets import chrome
from harness.targets.chrome import Found, find_chrome, install_chrome

MakeProgram = Callable[[Path, str], Path]


@pytest.fixture
def program() -> MakeProgram:
    """Make an executable shell script at a path."""

    def make(path: Path, script: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture(autouse=True)
def no_fixed_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's own Chrome must not be found."""
    monkeypatch.setattr(chrome, "_FIXED", {})
    monkeypatch.delenv("AXTRIAL_CHROME", raising=False)


def around(tmp_path: Path) -> Surroundings:
    return Surroundings(
        search_path=str(tmp_path / "bin"), home=tmp_path, playwright_browsers=tmp_path / "ms-playwright"
    )


def test_setting_comes_first(tmp_path: Path, program: MakeProgram) -> None:
    program(tmp_path / "bin" / "chromium", "echo Chromium 2.0.0.0")
    own = program(tmp_path / "own", "echo warning: 9 lives of Chrome 8.8 >&2; echo Google Chrome 3.0.1.2 beta")

    assert find_chrome(Settings(chrome=own), around(tmp_path)) == Found(path=own, version="3.0.1.2", source="setting")


def test_setting_may_be_a_name_in_path(tmp_path: Path, program: MakeProgram) -> None:
    path = program(tmp_path / "bin" / "my-chrome", "echo Chromium 2.0.0.0")

    found = find_chrome(Settings(chrome=Path("my-chrome")), around(tmp_path))

    assert found == Found(path=path, version="2.0.0.0", source="setting")


def test_installed_comes_before_playwright_and_stable_first(tmp_path: Path, program: MakeProgram) -> None:
    program(tmp_path / "ms-playwright" / "chromium-9" / "chrome-linux64" / "chrome", "echo Chromium 9.0")
    program(tmp_path / "bin" / "chromium", "echo Chromium 2.0.0.0")
    stable = program(tmp_path / "bin" / "google-chrome-stable", "echo Google Chrome 3.0.0.0")

    assert find_chrome(Settings(), around(tmp_path)) == Found(path=stable, version="3.0.0.0", source="installed")


def test_newest_build_of_playwright(tmp_path: Path, program: MakeProgram) -> None:
    builds = tmp_path / "ms-playwright"
    program(builds / "chromium-999" / "chrome-linux" / "chrome", "echo Chromium 9.0.0.0")
    newest = program(
        builds / "chromium-1255" / "chrome-linux64" / "chrome", "echo Google Chrome for Testing 159.0.8154.6"
    )

    assert find_chrome(Settings(), around(tmp_path)) == Found(path=newest, version="159.0.8154.6", source="playwright")


def test_broken_one_is_passed_over(tmp_path: Path, program: MakeProgram) -> None:
    program(tmp_path / "bin" / "google-chrome", "echo cannot open libnss3.so >&2; exit 127")
    works = program(tmp_path / "bin" / "chromium", "echo Chromium 2.0.0.0")

    assert find_chrome(Settings(), around(tmp_path)).path == works


def test_nothing_found_says_what_was_tried(tmp_path: Path, program: MakeProgram) -> None:
    broken = program(tmp_path / "bin" / "google-chrome", "echo cannot open libnss3.so >&2; exit 127")

    with pytest.raises(ChromeNotFound) as caught:
        find_chrome(Settings(), around(tmp_path))

    assert caught.value.message == (
        f'no Chrome or Chromium was found (tried: "{broken}" answered --version with exit code 127 and '
        '"cannot open libnss3.so"; no other of google-chrome-stable, google-chrome, chromium, chromium-browser, '
        "chrome, google-chrome-beta in PATH or the usual folders; no other build of Playwright in "
        f"{tmp_path}/ms-playwright); run: axtrial setup"
    )


def test_wrong_setting_is_not_passed_over(tmp_path: Path, program: MakeProgram) -> None:
    program(tmp_path / "bin" / "chromium", "echo Chromium 2.0.0.0")
    plain = tmp_path / "plain"
    plain.write_text("text")
    other = program(tmp_path / "other", "echo Other Browser 5.0")
    said = {}
    for name in (tmp_path / "none", tmp_path, plain, other, Path("no-such-name")):
        with pytest.raises(ChromeSettingWrong) as caught:
            find_chrome(Settings(chrome=name), around(tmp_path))
        said[name] = caught.value.message
        assert caught.value.exit_code == 2

    wrong = "the setting chrome is not a Chrome that runs:"
    assert said == {
        tmp_path / "none": f'{wrong} "{tmp_path}/none" is not a file',
        tmp_path: f'{wrong} "{tmp_path}" is not a file',
        plain: f'{wrong} "{plain}" is not executable',
        other: f'{wrong} "{other}" answered --version with exit code 0 and "Other Browser 5.0"',
        Path("no-such-name"): 'the setting chrome names "no-such-name", which is not in PATH',
    }


def test_silent_program_is_bounded(tmp_path: Path, program: MakeProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "VERSION_TIMEOUT_S", 0.2)
    silent = program(tmp_path / "silent", "sleep 1000 & wait")

    with pytest.raises(ChromeSettingWrong) as caught:
        find_chrome(Settings(chrome=silent), around(tmp_path))

    assert caught.value.message == (
        f'the setting chrome is not a Chrome that runs: "{silent}" did not end within 0.2 s'
    )


@pytest.fixture
def empty_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The program folder of a machine with no browser, whose installation steps are replaced."""
    monkeypatch.setattr(chrome, "surroundings", lambda: around(tmp_path))
    return tmp_path / "bin"


def refuse(message: str) -> Callable[[Callable[[str], None]], None]:
    def step(report: Callable[[str], None]) -> None:
        raise SetupError(message)

    return step


def test_install_goes_on_to_the_package(
    empty_machine: Path, program: MakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(report: Callable[[str], None]) -> None:
        report("installing")
        program(empty_machine / "chromium", "echo Chromium 2.0.0.0")

    monkeypatch.setattr(chrome, "_playwright_install", refuse("no network"))
    monkeypatch.setattr(chrome, "_apt_install", install)
    told: list[str] = []

    found = install_chrome(Settings(), told.append)

    assert found == Found(path=empty_machine / "chromium", version="2.0.0.0", source="apt-get install")
    assert told == ["playwright install did not bring a Chrome: no network", "installing"]


def test_install_fails_with_all_it_tried(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "_playwright_install", refuse("no network"))
    monkeypatch.setattr(chrome, "_apt_install", refuse("needs root"))

    with pytest.raises(ChromeNotFound) as caught:
        install_chrome(Settings(), lambda _: None)

    assert caught.value.message == (
        "no Chrome could be brought (tried: nothing installed; playwright install: no network; apt-get install: needs "
        "root); install Chrome or Chromium, or set AXTRIAL_CHROME"
    )


def test_install_steps_run_their_programs(
    empty_machine: Path, program: MakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = empty_machine.parent / "log"
    program(empty_machine / "apt-get", f'echo "$*" "$DEBIAN_FRONTEND" >> {log}; [ "$4" = update ] || exit 100')
    program(empty_machine / "python", "echo Downloading >&2; echo Error: refused >&2; exit 1")
    monkeypatch.setenv("PATH", f"{empty_machine}:/usr/bin:/bin")
    monkeypatch.setattr("sys.executable", str(empty_machine / "python"))
    monkeypatch.setattr("os.geteuid", lambda: 0)

    with pytest.raises(SetupError, match=r'^exit code 1, "Error: refused"$'):
        chrome._playwright_install(lambda _: None)
    with pytest.raises(SetupError, match=r'^exit code 100, ""$'):
        chrome._apt_install(lambda _: None)

    apt = "-q -o DPkg::Lock::Timeout=120"
    assert log.read_text() == (
        f"{apt} update noninteractive\n{apt} install -y --no-install-recommends chromium noninteractive\n"
    )


def test_no_installation_without_root(
    empty_machine: Path, program: MakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(empty_machine / "apt-get", "exit 1")
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    with pytest.raises(SetupError) as caught:
        chrome._apt_install(lambda _: None)

    assert caught.value.message == "needs root; run: sudo apt-get install chromium"
