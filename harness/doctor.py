"""What is here and what is missing, each with the one command that brings it. Prints nothing, installs nothing."""

import shutil
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from harness.config import Settings, install_encoding, surroundings, whole_environment
from harness.drivers.native_install import find_npm, npm_remedy
from harness.drivers.native_pin import NAME, SETUP_COMMAND, NativeInTheWay, find_native
from harness.errors import (
    ChromeNotFound,
    ChromeSettingWrong,
    NativeMismatch,
    NativeMissing,
    NativeUnsupported,
    SetupError,
    quoted,
)
from harness.quick import run_bounded
from harness.targets.chrome import find_chrome
from harness.targets.display import NoDisplay, find_screen
from harness.targets.local import runs_without_sandbox

ENGINE_TIMEOUT_S = 5.0
"""Seconds for a container engine's `--version`, which asks no daemon."""

ENGINES = ("podman", "docker")
ENGINE_REMEDY = "apt-get install -y --no-install-recommends podman runc"
DRIVER_PACKAGES = ("playwright", "websockets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of the doctor.

    `remedy` is the command that brings what is missing; None where nothing is, or nothing can bring it. `required`: the
    default run needs it.
    """

    name: str
    ok: bool
    version: str | None
    detail: str
    remedy: str | None = None
    required: bool = False

    def as_json(self) -> dict[str, object]:
        """The check as it stands in `axtrial doctor --json`."""
        return asdict(self)


def examine(settings: Settings) -> list[Check]:
    """All checks, in the order they are shown; puts the encoding's file into the cache where it is missing.

    Takes well under a second, at most `VERSION_TIMEOUT_S` for each program.

    The default run can run if every required one is ok.
    """
    return [
        _chrome(settings),
        *([_display()] if settings.headed else []),  # without a window none is needed
        _driver_current(),
        _driver_agent_browser(settings),
        _container_engine(),
        Check(name="model route scripted", ok=True, version=None, detail="built in", required=True),
        _encoding(settings),
    ]


def _chrome(settings: Settings) -> Check:
    try:
        found = find_chrome(settings)
    except ChromeSettingWrong as error:
        remedy = "unset AXTRIAL_CHROME, or let it name a Chrome"
        return Check(name="chrome", ok=False, version=None, detail=error.message, remedy=remedy, required=True)
    except ChromeNotFound as error:
        remedy = "axtrial setup"
        return Check(name="chrome", ok=False, version=None, detail=error.message, remedy=remedy, required=True)
    root = "; runs with --no-sandbox (root)" if runs_without_sandbox() else ""
    detail = f"{quoted(str(found.path))}, {found.source}{root}"
    return Check(name="chrome", ok=True, version=found.version, detail=detail, required=True)


def _display() -> Check:
    try:
        screen = find_screen(whole_environment())
    except NoDisplay as error:
        remedy = "unset AXTRIAL_HEADED, or run under xvfb-run"
        return Check(name="display", ok=False, version=None, detail=error.message, remedy=remedy, required=True)
    detail = "the system's own" if screen is None else f"{screen}, takes connections"
    return Check(name="display", ok=True, version=None, detail=detail, required=True)


def _driver_current() -> Check:
    versions: list[str] = []
    for package in DRIVER_PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            detail = f"the package {package} is not installed"
            return Check(
                name="driver current", ok=False, version=None, detail=detail, remedy="make setup", required=True
            )
    return Check(name="driver current", ok=True, version=", ".join(versions), detail="built in", required=True)


def _driver_agent_browser(settings: Settings) -> Check:
    name = f"driver {NAME}"
    try:
        found = find_native(settings)
    except NativeUnsupported as error:
        return Check(name=name, ok=False, version=None, detail=error.message)
    except NativeInTheWay as error:
        remedy = f"remove that folder; then: {SETUP_COMMAND}"
        return Check(name=name, ok=False, version=None, detail=error.message, remedy=remedy)
    except (NativeMissing, NativeMismatch) as error:
        around = surroundings()
        try:
            find_npm(around)
        except SetupError:
            remedy = f"{npm_remedy(around)}; then: {SETUP_COMMAND}"
            return Check(name=name, ok=False, version=None, detail=f"npm is missing; {error.message}", remedy=remedy)
        return Check(name=name, ok=False, version=None, detail=error.message, remedy=SETUP_COMMAND)
    return Check(name=name, ok=True, version=found.version, detail=f"{found.platform}, {quoted(str(found.path))}")


def _container_engine() -> Check:
    for engine in ENGINES:
        path = shutil.which(engine, path=surroundings().search_path)
        if path is None:
            continue
        answer = run_bounded([path, "--version"], whole_environment(), ENGINE_TIMEOUT_S)
        if answer.code == 0 and answer.stdout.strip():
            said = answer.stdout.strip().split("\n")[0]
            detail = f"{quoted(path)}; whether it can start a container is not tried here"
            return Check(name="container engine", ok=True, version=said[:80], detail=detail)
    detail = f"neither of {', '.join(ENGINES)} is in PATH"
    remedy = ENGINE_REMEDY if sys.platform == "linux" else "install podman or docker"
    return Check(name="container engine", ok=False, version=None, detail=detail, remedy=remedy)


def _encoding(settings: Settings) -> Check:
    try:
        encoding = install_encoding(settings)
    except SetupError as error:
        return Check(name="encodings", ok=False, version=None, detail=error.message, remedy="make setup")
    return Check(name="encodings", ok=True, version=encoding.name, detail=quoted(str(encoding.path)))
