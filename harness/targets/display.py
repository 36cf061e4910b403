"""Whether a browser's window can be shown: asked before Chrome is started, which says it in words of its own.

Only for systems whose screen is named by variables (X11, Wayland); on macOS and Windows there is nothing to ask.
"""

import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from harness.errors import TargetError, quoted

Screen = Literal["x11", "wayland"]

CONNECT_S = 2.0
"""Seconds for a display to take a connection; one on this machine takes it at once."""

X_PORT = 6000
"""TCP port of display 0 of an X server."""

X_SOCKETS = "/tmp/.X11-unix/X"

REFUSED = re.compile(r"Missing X server or \$DISPLAY|Failed to connect to Wayland display|cannot open display")
"""What Chrome says where a display takes connections, but not from it."""

_X_NAME = re.compile(r"(?P<host>[A-Za-z0-9.-]*):(?P<number>[0-9]{1,4})(?:\.[0-9]{1,3})?")


class NoDisplay(TargetError):
    """A window was asked for, and there is no display to show it on."""


def find_screen(environment: Mapping[str, str]) -> Screen | None:
    """The kind of the display that takes connections, X11 first; None where the system names none by variables.

    Blocking, at most `CONNECT_S` seconds for each display. A name that is not understood counts as X11.

    Raises:
        NoDisplay: there is none, or none that can be reached.
    """
    if sys.platform in ("win32", "darwin"):
        return None
    x, wayland = environment.get("DISPLAY", ""), environment.get("WAYLAND_DISPLAY", "")
    if x and _x_answers(x):
        return "x11"
    if wayland and _wayland_answers(wayland, environment.get("XDG_RUNTIME_DIR", "")):
        return "wayland"
    named = [f"{name} {quoted(value)}" for name, value in (("DISPLAY", x), ("WAYLAND_DISPLAY", wayland)) if value]
    raise no_display(
        f"{' and '.join(named)} cannot be reached" if named else "neither DISPLAY nor WAYLAND_DISPLAY is set"
    )


def no_display(why: str) -> NoDisplay:
    """The refusal, with what to do."""
    return NoDisplay(
        f"a window (--headed, AXTRIAL_HEADED) needs a display, and {why}; start this in a desktop session, "
        "or under xvfb-run (on Debian in the package xvfb), or leave the window out"
    )


def _x_answers(name: str) -> bool:
    match = _X_NAME.fullmatch(name)
    if match is None:
        return True  # a rarer form: Chrome may know it
    number = int(match["number"])
    if match["host"] not in ("", "unix"):
        try:
            socket.create_connection((match["host"], X_PORT + number), CONNECT_S).close()
        except OSError:
            return False
        return True
    path = f"{X_SOCKETS}{number}"
    return _socket_answers(f"\0{path}") or _socket_answers(path)


def _wayland_answers(name: str, folder: str) -> bool:
    return _socket_answers(str(Path(folder) / name)) if folder or name.startswith("/") else False


def _socket_answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECT_S)
        try:
            probe.connect(path)
        except (OSError, ValueError):  # nobody there; too long, or no path at all
            return False
    return True
