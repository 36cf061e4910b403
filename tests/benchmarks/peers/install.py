"""The peers, their pinned versions, and their installation by their ordinary clients into throw-away folders."""

import asyncio
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.config import whole_environment
from harness.quick import run_bounded

FOLDER = "PEERS_DIR"
"""A folder for the installations; without it one in the system's temp folder."""

INSTALL_S = 900.0
"""Seconds for one step of an installation from a slow mirror."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A package, its client and version, and what its text does not show by default."""

    name: str
    client: Literal["npm", "pip"]
    package: str
    version: str
    lacks: str


PEERS = (
    Peer(
        name="playwright-mcp",
        client="npm",
        package="@playwright/mcp",
        version="0.0.83",
        lacks="no cut. `browser_snapshot` over stdio; its `browser_navigate` has already saved one to a file.",
    ),
    Peer(
        name="chrome-devtools-mcp",
        client="npm",
        package="chrome-devtools-mcp",
        version="1.11.0",
        lacks="no cut; ignored and generic nodes are left out. `take_snapshot` over stdio, not verbose.",
    ),
    Peer(
        name="agent-browser",
        client="npm",
        package="agent-browser",
        version="0.41.2",
        lacks="no cut; full `snapshot` by its native program with its daemon warm, the program's start included.",
    ),
    Peer(
        name="browser-use",
        client="pip",
        package="browser-use",
        version="0.13.14",
        lacks="cut at 40,000 characters; the viewport and some way below it; without the screenshot of its default.",
    ),
    Peer(
        name="browsergym",
        client="pip",
        package="browsergym-core",
        version="0.14.3",
        lacks="no cut; without the 0.5 s wait before each observation, with its screenshot and DOM snapshot, which"
        " belong to each observation. Its Playwright 1.44 drives a browser newer than it knows.",
    ),
)


class NotInstalled(Exception):
    """A peer could not be installed; the message says why."""


@asynccontextmanager
async def installations(keep: bool, report: Callable[[str], None]) -> AsyncIterator[Path]:
    """The folder of installations; of a folder that was given only what was put there is removed."""
    given = os.environ.get(FOLDER)
    root = Path(given).resolve() / "axtrial-peers" if given else Path(tempfile.mkdtemp(prefix="axpeers-"))
    root.mkdir(parents=True, exist_ok=True)
    try:
        yield root
    finally:
        if keep:
            report(f"the installations stay in {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)


async def install(peer: Peer, root: Path) -> Path:
    """Install the peer below `root`, or find it there; its folder.

    Raises: NotInstalled.
    """
    folder = root / f"{peer.name}-{peer.version}"
    stamp = folder / "installed"
    if not stamp.exists():
        for argv in _steps(peer, folder):
            answer = await asyncio.to_thread(run_bounded, argv, whole_environment(), INSTALL_S)
            if answer.fault is not None:
                raise NotInstalled(f"{argv[0]}: {answer.fault}")
            if answer.code != 0:
                last = (answer.stderr.strip() or answer.stdout.strip() or "no output").split("\n")[-1]
                raise NotInstalled(f"{Path(argv[0]).name} ended with exit code {answer.code}: {last[:200]}")
        stamp.touch()
    return folder


def _steps(peer: Peer, folder: Path) -> list[list[str]]:
    folder.mkdir(parents=True, exist_ok=True)
    if peer.client == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise NotInstalled("npm is not in PATH")
        quiet = ["--no-fund", "--no-audit", "--ignore-scripts", "--cache", str(folder / "cache")]
        return [[npm, "install", "--prefix", str(folder), *quiet, f"{peer.package}@{peer.version}"]]
    python = str(folder / "venv" / "bin" / "python")
    return [
        [sys.executable, "-m", "venv", str(folder / "venv")],
        [
            python,
            *("-m", "pip", "install", "-q", "--no-cache-dir", "--disable-pip-version-check"),
            f"{peer.package}=={peer.version}",
        ],
    ]


def native_agent_browser(folder: Path) -> list[str]:
    """The native program, which a global installation puts into PATH; the package's wrapper where there is none."""
    package = folder / "node_modules" / "agent-browser" / "bin"
    machine = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    native = package / f"agent-browser-{sys.platform}-{machine}"
    if native.exists():
        native.chmod(0o755)
        return [str(native)]
    return [str(folder / "node_modules" / ".bin" / "agent-browser")]
