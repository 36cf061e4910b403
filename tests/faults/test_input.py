"""Pages that never load, huge and odd input, a reader that goes away: an answer or one sentence, and nothing left."""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Cli

ROW = '- listitem "Row"\n  - button "Configure" [ref=e12]\n  - StaticText "Lamp, 10 each"\n'
MIB = 1024 * 1024

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@pytest.mark.browser
def test_a_page_that_never_loads(cli: "Cli", silent: str) -> None:
    ended = cli.run("observe", silent)
    said = "The page did not finish loading in time; observe before trying again."
    assert (ended.code, ended.out, ended.err) == (
        1,
        "",
        f'axtrial: the page "{silent}" was not observed: {said}\n',
    )


@pytest.mark.browser
def test_a_page_that_nobody_serves(cli: "Cli") -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    ended = cli.run("observe", address, "--json")
    said = "The page could not be loaded (net::ERR_CONNECTION_REFUSED)."
    assert (ended.code, ended.out, ended.err) == (1, "", f'axtrial: the page "{address}" was not observed: {said}\n')


def test_fifty_megabytes_are_formatted(cli: "Cli") -> None:
    times = 50 * MIB // len(ROW)
    (cli.folder / "big.txt").write_text(ROW * times)
    ended = cli.run("format", "big.txt", "--json")
    answer = json.loads(ended.out)
    compact = ROW.replace(" [ref=e12]", "") * times
    shown = compact[:12_000].rpartition("\n")[0]
    lines = shown.count("\n") + 1
    assert (ended.code, ended.err) == (0, "")
    assert answer == {
        "text": f"{shown}\n[AX text truncated: {len(shown)} of {len(compact)} characters,"
        f" {lines} of {3 * times + 1} lines shown]",
        "verbatim": False,
        "truncated": True,
        "chars_shown": len(shown),
        "chars_total": len(compact),
        "lines_shown": lines,
        "lines_total": 3 * times + 1,
        "chars_in": len(ROW) * times,
        "rules": {"refs": times, "scaffolds": 0, "heading_echo": 0},
    }


def test_more_than_any_snapshot_is_refused(cli: "Cli") -> None:
    with (cli.folder / "huge.txt").open("wb") as file:
        file.truncate(64 * MIB + 1)
    ended = cli.run("format", "huge.txt")
    said = f'axtrial: "huge.txt" has more than {64 * MIB} bytes; that is no snapshot\n'
    assert (ended.code, ended.out, ended.err) == (2, "", said)


@pytest.mark.parametrize(
    ("stdin", "code", "out", "err"),
    [
        (b"", 0, "\n", ""),
        (b"\x89PNG\r\n\x1a\n\x00", 2, "", 'axtrial: "-" is not UTF-8 text (byte 0); a native snapshot is\n'),
    ],
)
def test_odd_stdin(cli: "Cli", stdin: bytes, code: int, out: str, err: str) -> None:
    ended = cli.run("format", "-", stdin=stdin)
    assert (ended.code, ended.out, ended.err) == (code, out, err)


def test_a_bad_line_between_good_ones_is_answered_in_its_place(cli: "Cli") -> None:
    lines = ['{"id": "a", "text": "- button \\"A\\" [ref=e1]"}', '{"id": "b", "text": 5}', "{", '{"id": 7, "text": ""}']
    ended = cli.run("format", "--jsonl", stdin="\n".join(lines).encode())
    first, wrong, broken, last = (json.loads(line) for line in ended.out.splitlines())
    assert (ended.code, ended.err) == (1, "")
    assert (first["id"], first["text"], last["id"], last["text"]) == ("a", '- button "A"', 7, "")
    assert wrong == {"id": None, "error": 'line 2: "text": Input should be a valid string'}
    assert (broken["id"], broken["error"].startswith('line 3: "line": Invalid JSON: ')) == (None, True)


def close_at_once(cli: "Cli") -> tuple[str, ...]:
    (cli.folder / "rows.txt").write_text(ROW * 100)
    return ("format", "rows.txt")


def close_on_a_table(cli: "Cli") -> tuple[str, ...]:
    return ("tasks",)


@pytest.mark.parametrize("command", [close_at_once, close_on_a_table])
def test_a_reader_that_goes_away_is_no_error_worth_a_word(
    cli: "Cli", command: Callable[["Cli"], tuple[str, ...]]
) -> None:
    process = cli.start(*command(cli))
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, said = process.communicate(timeout=50)
    assert (process.returncode, said) == (1, b"")


def test_a_report_that_cannot_be_written_is_one_sentence(cli: "Cli", fake_run: Path) -> None:
    (fake_run / "report.html").unlink()
    (fake_run / "report.html").mkdir()
    ended = cli.run("report", fake_run)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("axtrial: Is a directory: ")
    assert ended.err.count("\n") == 1
