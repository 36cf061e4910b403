"""Finding a Chrome that runs, and bringing one where there is none.

Order: the setting; an installed Chrome or Chromium; Playwright's own build. `install_chrome` then lets Playwright
download its build and, as root on Debian or Ubuntu, apt-get install Chromium. A candidate counts only if it answers
`--version` as a Chrome does. Every failure is kept in words, for the sentence that the user reads.
"""

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.config import Settings, Surroundings, surroundings, whole_environment
from harness.errors import ChromeNotFound, ChromeSettingWrong, SetupError, quoted
from harness.quick import Answer, run_bounded

Source = Literal["setting", "installed", "playwright", "playwright install", "apt-get install"]

VERSION_TIMEOUT_S = 10.0
"""Seconds for `--version`: it takes 0.05 s, and some seconds on the first start from a slow disk."""

PLAYWRIGHT_INSTALL_S = 180.0
"""Seconds for the download of about 180 MB; without a network it fails at once, behind a silent wall never."""

APT_UPDATE_S = 180.0
"""Seconds for the package lists."""

APT_INSTALL_S = 900.0
"""Seconds for about 100 MB of packages from a slow mirror."""

APT_LOCK_S = 120
"""Seconds that apt-get waits for another one that is at work."""

NAMES = ("google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "chrome", "google-chrome-beta")
"""Names in PATH, stable builds first."""

_VERSION = re.compile(r"(?:Chrome|Chromium|Microsoft Edge)\b[^\d\n]*(\d+(?:\.\d+){1,3})")
_FIXED: dict[str, tuple[str, ...]] = {
    "linux": ("/opt/google/chrome/chrome", "/snap/bin/chromium", "/var/lib/flatpak/exports/bin/org.chromium.Chromium"),
    "darwin": (
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
    ),
    "win32": (),
}
_IN_PROGRAM_FOLDERS = ("Google/Chrome/Application/chrome.exe", "Chromium/Application/chrome.exe")
_IN_PLAYWRIGHT = (
    "chrome-linux*/chrome",
    "chrome-mac*/*.app/Contents/MacOS/*",
    "chrome-win*/chrome.exe",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A Chrome that answered: its program, its version (`156.0.8078.73`) and where it was found."""

    path: Path
    version: str
    source: Source


def find_chrome(settings: Settings, around: Surroundings | None = None) -> Found:
    """The first Chrome that runs; takes some 50 ms, so ask once for a whole run.

    Raises:
        ChromeSettingWrong: the setting `chrome` names something that is not a Chrome that runs.
        ChromeNotFound: nothing was found; the sentence says what was tried.
    """
    around = around or surroundings()
    if settings.chrome is not None:
        return _from_setting(settings.chrome, around)
    tried: list[str] = []
    for path, source in _candidates(around):
        version = _version(path, tried)
        if version is not None:
            return Found(path=path, version=version, source=source)
    tried.append(f"no other of {', '.join(NAMES)} in PATH or the usual folders")
    tried.append(f"no other build of Playwright in {around.playwright_browsers}")
    raise ChromeNotFound(f"no Chrome or Chromium was found (tried: {'; '.join(tried)}); run: axtrial setup")


def install_chrome(settings: Settings, report: Callable[[str], None]) -> Found:
    """Find Chrome, or bring it: Playwright's build, then, as root on Debian or Ubuntu, the package chromium.

    `report` gets a line before each step that takes long. Bounded by the sum of the bounds above.

    Raises:
        ChromeSettingWrong: as `find_chrome`; a wrong setting is not repaired by an installation.
        ChromeNotFound: no step brought one; the sentence says what was tried.
    """
    tried: list[str] = []
    try:
        return find_chrome(settings)
    except ChromeNotFound:
        tried.append("nothing installed")
    steps: tuple[tuple[Source, Callable[[Callable[[str], None]], None]], ...] = (
        ("playwright install", _playwright_install),
        ("apt-get install", _apt_install),
    )
    for source, step in steps:
        try:
            step(report)
            found = find_chrome(settings)
        except (SetupError, ChromeNotFound) as error:
            tried.append(f"{source}: {error.message}")
            report(f"{source} did not bring a Chrome: {error.message}")
            continue
        return Found(path=found.path, version=found.version, source=source)
    raise ChromeNotFound(
        f"no Chrome could be brought (tried: {'; '.join(tried)}); install Chrome or Chromium, or set AXTRIAL_CHROME"
    )


def _from_setting(named: Path, around: Surroundings) -> Found:
    path = named
    if not named.is_absolute():
        looked_up = shutil.which(str(named), path=around.search_path)
        if looked_up is None:
            raise ChromeSettingWrong(f"the setting chrome names {quoted(str(named))}, which is not in PATH")
        path = Path(looked_up)
    tried: list[str] = []
    version = _version(path, tried)
    if version is None:
        raise ChromeSettingWrong(f"the setting chrome is not a Chrome that runs: {tried[0]}")
    return Found(path=path, version=version, source="setting")


def _candidates(around: Surroundings) -> Iterator[tuple[Path, Source]]:
    seen: set[Path] = set()
    for path, source in _places(around):
        real = Path(os.path.realpath(path))
        if path.is_file() and real not in seen:
            seen.add(real)
            yield path, source


def _places(around: Surroundings) -> Iterator[tuple[Path, Source]]:
    for name in NAMES:
        found = shutil.which(name, path=around.search_path) if around.search_path else None
        if found is not None:
            yield Path(found), "installed"
    for fixed in _FIXED.get(sys.platform, ()):
        yield Path(fixed), "installed"
        if sys.platform == "darwin":
            yield around.home / fixed.removeprefix("/"), "installed"
    for folder in around.program_folders:
        for inside in _IN_PROGRAM_FOLDERS:
            yield folder / inside, "installed"
    for build in sorted(around.playwright_browsers.glob("chromium-*"), key=_revision, reverse=True):
        for pattern in _IN_PLAYWRIGHT:
            for path in sorted(build.glob(pattern)):
                yield path, "playwright"


def _revision(build: Path) -> int:
    number = build.name.removeprefix("chromium-")
    return int(number) if number.isdecimal() else -1


def _version(path: Path, tried: list[str]) -> str | None:
    """What the program says of itself; None, and a line in `tried`, where it is no Chrome that runs."""
    if not path.is_file():
        tried.append(f"{quoted(str(path))} is not a file")
        return None
    if not os.access(path, os.X_OK):
        tried.append(f"{quoted(str(path))} is not executable")
        return None
    if sys.platform == "win32":
        return _folder_version(path, tried)
    answer = run_bounded([str(path), "--version"], whole_environment(), VERSION_TIMEOUT_S)
    # The answer alone, not the errors: a wrapper may print warnings there that hold other programs' names.
    match = _VERSION.search(answer.stdout)
    if answer.code == 0 and match is not None:
        return match.group(1)
    tried.append(f"{quoted(str(path))} {_said(answer)}")
    return None


def _folder_version(path: Path, tried: list[str]) -> str | None:
    """On Windows Chrome prints no version; its program folder holds a folder named by it."""
    names = [child.name for child in path.parent.iterdir() if re.fullmatch(r"\d+(\.\d+){3}", child.name)]
    if not names:
        tried.append(f"{quoted(str(path))} has no version folder beside it")
    return max(names, key=lambda name: [int(part) for part in name.split(".")], default=None)


def _said(answer: Answer) -> str:
    if answer.fault is not None:
        return answer.fault
    lines = [line for line in (answer.stderr if answer.code else answer.stdout).split("\n") if line.strip()]
    return f"answered --version with exit code {answer.code} and {quoted(lines[-1].strip() if lines else '')}"


def _playwright_install(report: Callable[[str], None]) -> None:
    report(f"downloading Chromium with `playwright install chromium` (at most {PLAYWRIGHT_INSTALL_S:.0f} s)")
    argv = [sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"]
    _step(argv, whole_environment(), PLAYWRIGHT_INSTALL_S)


def _apt_install(report: Callable[[str], None]) -> None:
    around = surroundings()
    if shutil.which("apt-get", path=around.search_path) is None:
        raise SetupError(f"apt-get is not on this machine ({platform.system()})")
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise SetupError("needs root; run: sudo apt-get install chromium")
    environment = {**whole_environment(), "DEBIAN_FRONTEND": "noninteractive"}
    report("installing Chromium with `apt-get install chromium` (takes a minute or more)")
    apt = ["apt-get", "-q", "-o", f"DPkg::Lock::Timeout={APT_LOCK_S}"]
    _step([*apt, "update"], environment, APT_UPDATE_S)
    install = [*apt, "install", "-y", "--no-install-recommends", "chromium"]
    _step(install, environment, APT_INSTALL_S)


def _step(argv: list[str], environment: dict[str, str], timeout_s: float) -> None:
    answer = run_bounded(argv, environment, timeout_s)
    if answer.fault is not None:
        raise SetupError(answer.fault)
    if answer.code != 0:
        lines = [line.strip() for line in f"{answer.stdout}\n{answer.stderr}".split("\n") if line.strip()]
        errors = [line for line in lines if re.search(r"error|^E:", line, re.IGNORECASE)]
        last = (errors or lines or [""])[0 if errors else -1]
        raise SetupError(f"exit code {answer.code}, {quoted(last)}")
