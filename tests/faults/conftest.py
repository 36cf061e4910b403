"""The console script as a real process in a temp folder of its own, and a page that loads when a test says so."""

import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from reports.row import Row, parse_row

BOUND_S = 50.0
SCRIPT = Path(sys.executable).with_name("axtrial")
FAKE_ARM = ("--arm", "fake/fake/conservative")

TASK = """
goal = "Read {base}page."
[limits]
calls = 5
seconds = 40
[expected.reads]
page = 1
[[script]]
tool = "open"
url = "page"
[[script]]
tool = "observe"
see = ["Hello"]
"""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Cli:
    """Runs commands in `folder`, each in a process group of its own, as a terminal does; temp files go to `temp`."""

    folder: Path
    temp: Path
    settings: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str | Path, stdin: bytes | None = None) -> subprocess.Popen[bytes]:
        """Start a command; `stdin` must fit into a pipe."""
        process = subprocess.Popen(
            [SCRIPT, *arguments],
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env={**os.environ, "TMPDIR": str(self.temp), **self.settings},
            start_new_session=True,
        )
        self.started.append(process)
        if process.stdin is not None:
            process.stdin.write(stdin or b"")
            process.stdin.close()
            process.stdin = None
        return process

    def run(self, *arguments: str | Path, stdin: bytes | None = None) -> Finished:
        """Run a command to its end."""
        return self.end(self.start(*arguments, stdin=stdin))

    def end(self, process: subprocess.Popen[bytes]) -> Finished:
        """Wait for a command's end."""
        out, err = process.communicate(timeout=BOUND_S)
        return Finished(process.returncode, out.decode(), err.decode())

    def users(self) -> list[psutil.Process]:
        """Living processes that were given our temp folder or one in it: the command, its drivers, its Chromes."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                given = process.environ()
                places = (given.get("TMPDIR", ""), given.get("HOME", ""), *process.cmdline())
                if any(str(self.temp) in place for place in places) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def leftovers(self) -> tuple[list[int], list[str]]:
        """Processes and private folders that are left behind."""
        folders = sorted(path.name for path in self.temp.glob("axtrial-*"))
        return [process.pid for process in self.users()], folders

    def close(self) -> None:
        """End what a failed test has left running."""
        for process in self.started:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait(BOUND_S)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """The console script. At the end of the test nothing may be left of it."""
    # A short path: Chrome's lock is a socket below it.
    with tempfile.TemporaryDirectory(prefix="ax") as temp:
        made = Cli(tmp_path, Path(temp))
        yield made
        left = made.leftovers()
        made.close()
        assert left == ([], [])


class _Held(http.server.BaseHTTPRequestHandler):
    """Answers a request once the gate lets it."""

    gate: "Gate"

    def do_GET(self) -> None:
        self.gate.arrivals.release()
        self.gate.passes.acquire(timeout=BOUND_S)
        with suppress(OSError):  # the browser may have been killed meanwhile
            self.send_response(204)
            self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing of their own."""


@dataclass(slots=True)
class Gate:
    """A loopback server that holds each request until it is let through: a page that waits for one does not load."""

    arrivals: threading.Semaphore
    passes: threading.Semaphore
    address: str = ""

    def wait(self) -> None:
        """Wait for one more request to arrive."""
        assert self.arrivals.acquire(timeout=BOUND_S), "no browser has asked for the page's picture"

    def pass_one(self) -> None:
        self.passes.release()

    def open(self) -> None:
        """Hold no request any more."""
        self.passes.release(1_000)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate(threading.Semaphore(0), threading.Semaphore(0))
    handler = type("Handler", (_Held,), {"gate": made})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        made.address = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        made.open()
        server.shutdown()
        thread.join()


@pytest.fixture
def gated(tmp_path: Path, gate: Gate) -> Path:
    """A fixtures folder with one task, whose page has loaded when the gate has let its picture through."""
    pages = tmp_path / "fixtures" / "gated" / "page" / "pages"
    pages.mkdir(parents=True)
    (pages / "page.html").write_text(f'<!doctype html><title>Page</title><p>Hello</p><img src="{gate.address}" alt="">')
    (pages.parent / "task.toml").write_text(TASK)
    return tmp_path / "fixtures"


@pytest.fixture(scope="session")
def ended_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of four trials with the driver `fake`, which has no page for them: all are refused."""
    folder = tmp_path_factory.mktemp("ended")
    command = [str(SCRIPT), "run", "--out", "run", *FAKE_ARM]
    subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=BOUND_S)
    return folder / "run"


@pytest.fixture
def fake_run(ended_run: Path, tmp_path: Path) -> Path:
    """A copy of `ended_run`, to be changed."""
    return Path(shutil.copytree(ended_run, tmp_path / "run"))


def rows(folder: Path) -> list[Row]:
    """The rows of a run's folder."""
    return [parse_row(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


@pytest.fixture
def read_rows() -> object:
    """`rows`, for tests."""
    return rows
