"""`axtrial subagents demo`, as a user runs it: a parent and three child processes, and what each saw."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.commands.subagents_demo import demo_view
from harness.subagents.demo.run import Called, Seen, Shown

pytestmark = pytest.mark.timeout(180)

SAW = {
    "title": ['the title "Membership desk"'],
    "form": ['the page says "Welcome, Ada"'],
    "faults": ["[TIME] pageerror: ReferenceError: menu is not defined  @ APP:37", "500 GET APPprices"],
    "picture": ["a picture of 1280 x 720 px, SIZE bytes"],
}


@pytest.mark.browser
def test_a_parent_and_three_children_see_what_there_is(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from harness.entry import main; main()", "subagents", "demo", "--json"]
    root = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "PYTHONPATH": root}
    ended = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=160, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    shown = json.loads(ended.stdout)

    def plain(line: str) -> str:
        line = re.sub(r"^\[[0-9T:.Z-]+\]", "[TIME]", re.sub(r"http://127\.0\.0\.1:\d+/", "APP", line))
        return re.sub(r"\d+ bytes", "SIZE bytes", line).removesuffix("  (pending)")

    assert (shown["ok"], shown["most_pages"]) == (True, 4)
    assert {one["job"]: [plain(line) for line in one["saw"]] for one in shown["owners"]} == SAW
    assert sorted(one["owner"] for one in shown["owners"]) == ["child-1", "child-2", "child-3", "parent"]
    assert [one["kind"] for one in shown["owners"]] == ["parent", "worker", "explorer", "explorer"]
    tools = {call["tool"] for one in shown["owners"] for call in one["calls"]}
    assert tools == {
        f"browser_{name}" for name in ("goto", "eval", "fill", "click", "console", "network", "screenshot")
    }


def test_its_help_has_an_example() -> None:
    answer = CliRunner().invoke(app, ["subagents", "demo", "--help"])
    assert (answer.exit_code, "axtrial subagents demo" in answer.output.partition("Example")[2]) == (0, True)


def test_page_text_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    call = Called(tool="browser_eval", ok=False, ms=1.0, text="\x1b[2Jgone [red]x[/red]")
    seen = Seen(owner="child-1", kind="worker", job="form", saw=["\x1b]0;title\x07"], calls=[call])
    Console(width=120).print(demo_view(Shown(seen=(seen,), most_pages=1, seconds=1.0)))
    out = capsys.readouterr().out
    assert ("\x1b" in out, "[red]x[/red]" in out, "something was not seen" in out) == (False, True, True)
