"""The target `local`: a fresh Chrome on this machine for each call, its debugging port on loopback.

Chrome also gets a debugging pipe whose other end only this process holds. Closing it is how Chrome is asked to end, in
the same orderly way as `Browser.close` does, so that a profile which is kept holds all that pages stored; and as the
system closes it when this process is killed, no Chrome outlives its owner, not even a SIGKILL of it. On Linux a Chrome
with a throw-away profile is then killed at once (harness/tied.py), whether it listens or not.
"""

import asyncio
import errno
import os
import platform
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.config import Settings, child_environment, whole_environment
from harness.errors import ChromeDied, PortTaken, ProcessNotStarted, TargetTimedOut
from harness.leftovers import sweep_leftovers
from harness.process import Command, OwnedProcess, owned_process, private_folder
from harness.targets.base import Endpoint
from harness.targets.chrome import Found, find_chrome
from harness.targets.display import REFUSED, Screen, find_screen, no_display
from harness.targets.profile import HeldProfile, held_profile

CLOSE_S = 2.0
"""Seconds for Chrome to end by itself when its pipe closes; it takes about 0.1 s."""

WINDOW = (1280, 720)
"""CSS pixels of the window: the same in each trial, so that layouts can be compared."""

MAX_SOCKET_PATH = 103
"""Bytes of a local socket's path on macOS, one of the shortest; Chrome dies where its lock's path is longer."""

LOCK_PATH_CHARS = len("/org.chromium.Chromium.XXXXXX/SingletonSocket")

_READY = re.compile(
    r"^DevTools listening on (ws://([\d.]+|\[[^\]]*\]):(\d+)/devtools/browser/[\w-]+)\s*$", re.MULTILINE
)
_NO_PORT = re.compile(r"^.*Cannot start http server for devtools.*$", re.MULTILINE)
_SETTLED = re.compile(f"{_READY.pattern}|{_NO_PORT.pattern}", re.MULTILINE)

# The pipe's file descriptors must be 3 and 4. A shell moves them there: no code of ours runs between fork and exec.
_SHELL = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>/dev/null </dev/null >/dev/null', "sh")

_OFF = (
    "AcceptCHFrame",
    "DialMediaRouteProvider",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "Translate",
)

_FLAGS = (
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--password-store=basic",
    "--use-mock-keychain",
    "--metrics-recording-only",
    "--disable-default-apps",
    "--disable-extensions",
    "--mute-audio",
    "--disable-back-forward-cache",
    # An owner's tab in the background must run like the one in front.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    f"--disable-features={','.join(_OFF)}",
    "--lang=en-US",
    f"--window-size={WINDOW[0]},{WINDOW[1]}",
    "--force-device-scale-factor=1",
)


def runs_without_sandbox() -> bool:
    """True as root, where Chrome refuses to start with its sandbox; else never."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """How one Chrome is started. `held`: the profile that is kept; None: one in `folder`, which goes with it."""

    settings: Settings
    found: Found
    folder: Path
    flags: tuple[str, ...] = ()
    held: HeldProfile | None = None
    screen: Screen | None = None

    @property
    def profile(self) -> Path:
        return self.folder / "profile" if self.held is None else self.held.folder


@asynccontextmanager
async def local(
    settings: Settings, *, chrome: Found | None = None, flags: tuple[str, ...] = (), profile: str | None = None
) -> AsyncIterator[Endpoint]:
    """A Chrome of its own; ended and removed at the end, on every path.

    What killed runs left behind is swept first. `chrome` saves the search where it is known already. `flags` are
    further command-line switches of Chrome, such as `--site-per-process`. `profile` None: a new profile that is removed
    at the end, as trials need it; else the name of a profile that is kept in the setting `state_dir`.

    Raises:
        ChromeNotFound, ChromeSettingWrong: as `find_chrome`.
        NoDisplay: the setting `headed`, and no display.
        ProfileNameWrong, ProfileInUse: as `held_profile`.
        PortTaken: another program listens on the setting `cdp_port`.
        ChromeDied: it ended before it was ready; the sentence has its exit code and last words.
        TargetTimedOut: it was not ready within the setting `chrome_start_timeout_s`.
        SetupError: the system's temp folder or the profile's is full or cannot be written.
    """
    found = await asyncio.to_thread(find_chrome, settings) if chrome is None else chrome
    screen = await asyncio.to_thread(find_screen, whole_environment()) if settings.headed else None
    _refuse_taken(settings.cdp_port)
    await asyncio.to_thread(sweep_leftovers)
    async with AsyncExitStack() as stack:
        held = None if profile is None else stack.enter_context(held_profile(settings, profile))
        folder = await stack.enter_async_context(private_folder())
        start = _Start(settings=settings, found=found, folder=folder, flags=flags, held=held, screen=screen)
        if held is None:
            start.profile.mkdir(mode=0o700)
        try:
            process = await stack.enter_async_context(owned_process(_command(start), folder))
        except ProcessNotStarted as error:
            raise ChromeDied(f"Chrome did not start: {error.message}") from error
        browser_ws, port = await _ready(process, settings)
        yield Endpoint(
            browser_ws=browser_ws,
            http=f"http://127.0.0.1:{port}",
            profile=start.profile,
            browser_version=found.version,
            os=platform.system(),
            architecture=platform.machine(),
            pid=process.pid,
        )


def _command(start: _Start) -> Command:
    settings, folder, held = start.settings, start.folder, start.held
    chrome = [
        str(start.found.path),
        *(() if settings.headed else ("--headless=new",)),
        *((f"--ozone-platform={start.screen}",) if start.screen is not None else ()),
        *(("--no-sandbox",) if runs_without_sandbox() else ()),
        f"--remote-debugging-port={settings.cdp_port}",
        f"--user-data-dir={start.profile}",
        *_FLAGS,
        *(("--hide-crash-restore-bubble",) if held is not None else ()),
        *start.flags,
    ]
    temp = folder if len(os.fsencode(folder)) + LOCK_PATH_CHARS <= MAX_SOCKET_PATH else Path("/tmp")
    environment = child_environment(folder, temp, headed=settings.headed)
    if sys.platform == "win32":
        return Command(argv=(*chrome, "about:blank"), environment=environment)
    return Command(
        argv=(*_SHELL, *chrome, "--remote-debugging-pipe", "about:blank"),
        environment=environment,
        close_s=CLOSE_S,
        # A profile that is kept is worth the wait for the orderly end that the closed pipe asks for. No signal goes
        # with that: beside it even SIGTERM makes Chrome lose what was just stored.
        tied=held is None,
        kept=() if held is None else (held.lock,),
    )


def _refuse_taken(port: int) -> None:
    """Chrome itself would go on without a port, or on IPv6 alone."""
    if port == 0:
        return
    with socket.socket() as probe:
        # Else a port that the last Chrome has just left would count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise _taken(port) from error
            raise PortTaken(f"the debugging port {port} cannot be used: {error.strerror}") from error


def _taken(port: int) -> PortTaken:
    return PortTaken(f"the debugging port {port} is in use; set another cdp_port, or 0 for a free one")


async def _ready(process: OwnedProcess, settings: Settings) -> tuple[str, str]:
    """The debugging address and its port, as soon as Chrome says it."""
    bound = settings.chrome_start_timeout_s
    try:
        async with asyncio.timeout(bound):
            said = await process.find(_SETTLED)
            code = await process.wait() if said is None else None
    except TimeoutError as error:
        raise TargetTimedOut(
            f"Chrome did not say within {bound:g} s that it is ready; its last line was {process.last_line()}"
        ) from error
    if said is None and settings.headed and REFUSED.search(process.stderr):
        raise no_display("the display that is there takes no window of this user")
    if said is None:
        raise ChromeDied(f"Chrome ended at its start with exit code {code}; its last line was {process.last_line()}")
    if said.group(2) != "127.0.0.1":
        raise _taken(settings.cdp_port)
    return said.group(1), said.group(3)
