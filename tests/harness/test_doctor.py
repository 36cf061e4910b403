"""The doctor names what is missing with the one command that brings it."""

from pathlib import Path

import pytest

from harness import doctor
from harness.config import Settings, Surroundings
from harness.doctor import Check, examine
from harness.drivers.native_pin import NativeBinary, NativeInTheWay
from harness.errors import ChromeNotFound, NativeMismatch, NativeMissing, NativeUnsupported, NativeUnusable
from harness.targets.chrome import Found
from harness.targets.display import Screen


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Set first, so that what the code under test sets is undone.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "unset")
    monkeypatch.setattr(doctor, "version", lambda package: {"playwright": "1.2", "websockets": "3.4"}[package])
    monkeypatch.setattr(
        doctor, "surroundings", lambda: Surroundings(search_path="", home=tmp_path, playwright_browsers=tmp_path)
    )
    monkeypatch.setattr("sys.platform", "linux")


def test_all_that_the_default_run_needs_is_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = Found(path=Path("/chrome"), version="156.0", source="installed")
    native = NativeBinary(path=tmp_path / "agent-browser", version="0.41.2", sha256="ab12", platform="linux-x64")
    monkeypatch.setattr(doctor, "find_native", lambda settings: native)
    monkeypatch.setattr(doctor, "find_chrome", lambda settings: found)
    monkeypatch.setattr(doctor, "runs_without_sandbox", lambda: True)

    assert examine(Settings(cache_dir=tmp_path)) == [
        Check(
            name="chrome",
            ok=True,
            version="156.0",
            detail='"/chrome", installed; runs with --no-sandbox (root)',
            required=True,
        ),
        Check(
            name="driver current", ok=True, version="playwright 1.2, websockets 3.4", detail="built in", required=True
        ),
        Check(name="driver agent-browser", ok=True, version="0.41.2", detail=f'linux-x64, "{tmp_path}/agent-browser"'),
        Check(
            name="container engine",
            ok=False,
            version=None,
            detail="neither of podman, docker is in PATH",
            remedy="apt-get install -y --no-install-recommends podman runc",
        ),
        Check(name="model route scripted", ok=True, version=None, detail="built in", required=True),
        Check(
            name="encodings",
            ok=True,
            version="o200k_base",
            detail=f'"{tmp_path}/tiktoken/fb374d419588a4632f3f557e76b4b70aebbca790"',
        ),
    ]


def test_missing_chrome_and_unusable_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(settings: Settings) -> Found:
        raise ChromeNotFound("no Chrome")

    monkeypatch.setattr(doctor, "find_chrome", missing)
    file = tmp_path / "file"
    file.write_text("")

    checks = {check.name: check for check in examine(Settings(cache_dir=file))}

    assert [checks["chrome"], checks["encodings"]] == [
        Check(name="chrome", ok=False, version=None, detail="no Chrome", remedy="axtrial setup", required=True),
        Check(
            name="encodings",
            ok=False,
            version=None,
            detail=f'the cache folder "{file}/tiktoken" cannot be used for the token encoding: Not a directory',
            remedy="make setup",
        ),
    ]


def test_wrong_setting_is_told(tmp_path: Path) -> None:
    checks = examine(Settings(chrome=tmp_path / "none", cache_dir=tmp_path))

    assert checks[0] == Check(
        name="chrome",
        ok=False,
        version=None,
        detail=f'the setting chrome is not a Chrome that runs: "{tmp_path}/none" is not a file',
        remedy="unset AXTRIAL_CHROME, or let it name a Chrome",
        required=True,
    )


@pytest.mark.parametrize("chrome", [True, False])
def test_a_window_without_a_display(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chrome: bool) -> None:
    def find(settings: Settings) -> Found:
        if not chrome:
            raise ChromeNotFound("no Chrome")
        return Found(path=tmp_path, version="1", source="setting")

    monkeypatch.setattr(doctor, "find_chrome", find)
    monkeypatch.setattr(doctor, "runs_without_sandbox", lambda: False)
    monkeypatch.setattr(doctor, "whole_environment", dict)

    there = Check(name="chrome", ok=True, version="1", detail=f'"{tmp_path}", setting', required=True)
    missing = Check(name="chrome", ok=False, version=None, detail="no Chrome", remedy="axtrial setup", required=True)
    display = Check(
        name="display",
        ok=False,
        version=None,
        detail="a window (--headed, AXTRIAL_HEADED) needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set; "
        "start this in a desktop session, or under xvfb-run (on Debian in the package xvfb), or leave the window out",
        remedy="unset AXTRIAL_HEADED, or run under xvfb-run",
        required=True,
    )
    assert examine(Settings(headed=True, cache_dir=tmp_path))[:2] == [there if chrome else missing, display]


@pytest.mark.parametrize(("screen", "said"), [("x11", "x11, takes connections"), (None, "the system's own")])
def test_a_window_with_a_display(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, screen: Screen | None, said: str
) -> None:
    monkeypatch.setattr(doctor, "find_screen", lambda environment: screen)

    checks = {check.name: check for check in examine(Settings(headed=True, cache_dir=tmp_path))}

    assert checks["display"] == Check(name="display", ok=True, version=None, detail=said, required=True)
    assert "display" not in {check.name for check in examine(Settings(cache_dir=tmp_path))}


SETUP = "axtrial setup --driver agent-browser"
NODE = "install Node.js from nodejs.org, which brings npm"


@pytest.mark.parametrize(
    ("programs", "error", "said"),
    [
        (["npm"], NativeMissing("it is not here"), ("it is not here", SETUP)),
        (["npm"], NativeMismatch("it is 2, not 1"), ("it is 2, not 1", SETUP)),
        ([], NativeMissing("it is not here"), ("npm is missing; it is not here", f"{NODE}; then: {SETUP}")),
        (
            ["apt-get"],
            NativeMismatch("it is 2, not 1"),
            ("npm is missing; it is 2, not 1", f"as root run: apt-get install -y npm; then: {SETUP}"),
        ),
        (["npm"], NativeUnsupported("no binary"), ("no binary", None)),
        ([], NativeInTheWay("it is a folder"), ("it is a folder", f"remove that folder; then: {SETUP}")),
    ],
)
def test_agent_browser_is_not_here(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    programs: list[str],
    error: NativeUnusable,
    said: tuple[str, str | None],
) -> None:
    def unusable(settings: Settings) -> NativeBinary:
        raise error

    for program in programs:
        (tmp_path / program).touch(mode=0o755)
    around = Surroundings(search_path=str(tmp_path), home=tmp_path, playwright_browsers=tmp_path)
    monkeypatch.setattr(doctor, "surroundings", lambda: around)
    monkeypatch.setattr(doctor, "find_native", unusable)

    checks = {check.name: check for check in examine(Settings(cache_dir=tmp_path))}

    assert checks["driver agent-browser"] == Check(
        name="driver agent-browser", ok=False, version=None, detail=said[0], remedy=said[1]
    )
