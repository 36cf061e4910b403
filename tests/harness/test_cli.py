"""The console script's answers: JSON alone on stdout, one sentence for bad input, an example in every help."""

import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from formatters.errors import NoSuchPage
from formatters.render import render
from formatters.search import TextSearch
from harness.cli import app, main
from harness.commands.compare import known_tasks
from harness.commands.observe_once import Observed, find_once, observe_once, observed_json
from harness.config import load_settings
from harness.drivers.fake import FakeHost, demo
from harness.errors import SpecError
from harness.host.tab import Tab
from harness.targets.base import Endpoint
from harness.trial.bot import PROMPT_DIGEST
from harness.trial.spec import SpecFile, build_spec, parse_arm

COMMANDS = ("doctor", "setup", "observe", "find", "format", "tasks", "run", "report", "audit")
NOWHERE = Endpoint(browser_ws="", http="", profile=Path(), browser_version="", os="", architecture="", pid=0)


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended. Several lines of typer's own are not of interest."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The console script in this process, in an empty folder. Not for what starts an event loop."""

    def call(*arguments: str, stdin: bytes = b"") -> Said:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["axtrial", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert isinstance(code, int)
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return call


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(command: str) -> None:
    answer = CliRunner().invoke(app, [command, "--help"])
    assert (answer.exit_code, f"axtrial {command}" in answer.output.partition("Example")[2]) == (0, True)


def test_help_names_every_command() -> None:
    answer = CliRunner().invoke(app, ["--help"])
    assert [command for command in COMMANDS if f" {command} " not in answer.output] == []


def test_tasks_as_json(run: Run) -> None:
    said = run("tasks", "--suite", "notes", "--json")
    (task,) = json.loads(said.out)
    assert (said.code, said.err, list(task), task["suite"], task["name"], task["limits"]) == (
        0,
        "",
        ["suite", "name", "goal", "facts", "limits"],
        "notes",
        "two-notes",
        {"calls": 20, "seconds": 180},
    )


@pytest.mark.browser
def test_doctor_as_json(run: Run) -> None:
    said = run("doctor", "--json")
    checks = json.loads(said.out)
    fields = {"name", "ok", "version", "detail", "remedy", "required"}
    assert (said.code, said.err, [set(check) for check in checks]) == (0, "", [fields] * len(checks))
    assert {check["name"]: check["ok"] for check in checks if check["required"]} == {
        "chrome": True,
        "driver current": True,
        "model route scripted": True,
    }


def test_doctor_fails_without_what_the_default_run_needs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXTRIAL_CHROME", "/none/chrome")
    said = run("doctor", "--json")
    chrome = next(check for check in json.loads(said.out) if check["name"] == "chrome")
    assert (said.code, chrome["ok"], chrome["remedy"]) == (1, False, "unset AXTRIAL_CHROME, or let it name a Chrome")


FORMATTED = {
    "text": '- heading "A" [level=1]\n- button "B"',
    "verbatim": False,
    "truncated": False,
    "chars_shown": 36,
    "chars_total": 36,
    "lines_shown": 2,
    "lines_total": 2,
    "chars_in": 58,
    "rules": {"refs": 1, "scaffolds": 0, "heading_echo": 1},
}
NATIVE = '- heading "A" [level=1]\n  - StaticText "A"\n- button "B" [ref=e1]'


def test_format_as_json_and_as_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "native.txt").write_text(NATIVE)
    formatted = {**FORMATTED, "chars_in": len(NATIVE)}
    said = run("format", "native.txt", "--json")
    assert (said.code, said.err, json.loads(said.out)) == (0, "", formatted)
    assert run("format", "native.txt") == Said(0, f"{FORMATTED['text']}\n", "")
    assert run("format", "-", "--formatter", "verbatim", stdin=NATIVE.encode()) == Said(0, f"{NATIVE}\n", "")


def test_format_lines(run: Run) -> None:
    lines = "".join(json.dumps({"id": name, "text": NATIVE}) + "\n" for name in (1, "two"))
    said = run("format", "--jsonl", stdin=lines.encode())
    formatted = {**FORMATTED, "chars_in": len(NATIVE)}
    assert (said.code, said.err) == (0, "")
    assert [json.loads(line) for line in said.out.splitlines()] == [{"id": 1, **formatted}, {"id": "two", **formatted}]


@pytest.mark.parametrize("formatter", ["structured", "page-text"])
async def test_observe_as_json_has_the_contracts_keys(formatter: str) -> None:
    host = FakeHost({"http://fake.test/": demo})
    async with host.attach(NOWHERE) as driver:
        page = await driver.first_page()
        await page.navigate("http://fake.test/")
        seen = await Tab(page).observe("text" if formatter == "page-text" else "ax")
    arm = parse_arm(f"fake/fake/{formatter}")
    answer = observed_json(Observed(observation=seen, rendering=render(seen, formatter), format_ms=1.0), arm, None)
    keys = "url title driver target formatter tag refs refs_shown refs_total ax page_text rendering measures"
    measures = "chars utf8_bytes estimated_tokens encoding ax_ms text_ms dom_ms format_ms total_ms"
    read = {"verbatim", "truncated", "chars_total", "lines_total"}
    assert (list(answer), list(json.loads(json.dumps(answer["measures"])))) == (keys.split(), measures.split())
    ax, text = answer["ax"], answer["page_text"]
    if formatter == "structured":
        assert isinstance(ax, dict)
        assert (set(ax), ax["source"], text) == (read | {"source"}, "tree", None)
    else:
        assert isinstance(text, dict)
        assert (ax, set(text)) == (None, read)
    field = {"ref": f"e{seen.stamp.tag}_1", "role": "textbox", "name": "Note"}
    assert answer["refs"] == [field, {"ref": f"e{seen.stamp.tag}_2", "role": "button", "name": "Save"}]


async def test_a_page_and_a_search_as_json() -> None:
    arm, settings = parse_arm("fake/fake/structured"), load_settings()
    paged = observed_json(await observe_once("http://fake.test/", arm, settings, 1), arm, None)
    assert (list(paged)[:3], paged["page"], paged["refs_before"]) == (["page", "refs_before", "url"], 1, 0)
    found = observed_json(await find_once("http://fake.test/", arm, settings, TextSearch("SAVE")), arm, None)
    assert isinstance(found["refs"], list)
    assert ([ref["name"] for ref in found["refs"]], found["refs_total"], next(iter(found))) == (["Save"], 1, "url")
    with pytest.raises(NoSuchPage):
        await observe_once("http://fake.test/", arm, settings, 2)


async def test_what_has_no_pages_is_refused_before_a_browser_starts() -> None:
    arm = parse_arm("current/local/inline")
    refused = "the formatter inline shows a document's beginning alone, without pages; "
    with pytest.raises(SpecError, match=refused):
        await observe_once("http://fake.test/", arm, load_settings(), 1)
    with pytest.raises(SpecError, match=refused):
        await find_once("http://fake.test/", arm, load_settings(), TextSearch("Save"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--arm", "current/local"], 'the arm "current/local" must be DRIVER/TARGET/FORMATTER, such as'),
        (["run", "--arm", "none/local/verbatim"], 'the arm "none/local/verbatim" names no known driver; there are'),
        (["run", "--arm", "current/moon/verbatim"], 'the arm "current/moon/verbatim" names no known target; there are'),
        (["run", "--arm", "current/local/x"], 'the arm "current/local/x" names no known formatter; there are'),
        (["run", "--arm", "fake/local/verbatim"], 'the arm "fake/local/verbatim": the driver fake and the target fake'),
        (["run", "--arm", "\x1b[2J/a/b"], 'the arm "\\u001b[2J/a/b" names no known driver; there are'),
        (
            ["run", "--arm", "agent-browser/local/structured"],
            'the arm "agent-browser/local/structured": the driver agent-browser has no tree for structured;',
        ),
        (["run", *["--arm", "fake/fake/verbatim"] * 2], "an arm is named twice"),
        (["run", "--task", "chess"], 'no task or suite is called "chess"; there are long, notes, orders, '),
        (["run", "--model", "oracle"], 'no model route is called "oracle"; there are scripted'),
        (["run", "--model", ""], 'the value of "model" is not usable: String should have at least 1 character'),
        (["run", "--repeats", "1000000000"], 'the value of "repeats" is not usable: Input should be less than or'),
        (["run", "--seed", str(2**70)], 'the value of "seed" is not usable: '),
        (["run", "--fixtures", "none"], "none: not a folder; a fixtures folder holds SUITE/NAME/task.toml"),
        (["run", "--resume"], 'there is no run in "runs" to resume; name its folder with --out'),
        (["run", "--resume", "--out", "none"], 'the folder "none" holds no run to resume: No such file or directory'),
        (["setup", "--driver", "x"], 'the driver "x" is not one that is fetched; there is agent-browser'),
        (["tasks", "--suite", "chess"], 'no task or suite is called "chess"; there are'),
        (["format", "none.txt"], '"none.txt" cannot be read: No such file or directory'),
        (["format", "."], '"." cannot be read: Is a directory'),
        (["format", "-", "--formatter", "zip"], "no formatter is called 'zip'; there are conservative, verbatim"),
        (["format", "-", "--formatter", "structured"], "the formatter 'structured' does not take native snapshot text"),
        (["format", "--jsonl", "--formatter", "zip"], "no formatter is called 'zip'; there are"),
        (["observe", "none.html"], 'the page "none.html" is neither an address (http://, https://, file://) nor an'),
        (["observe", "x" * 5000], f'the page "{"x" * 200}"... cannot be read: File name too long'),
        (["find", "none.html", " "], "the text to find is empty"),
        (["find", "none.html", "--regex", "("], '"(" is no regular expression of RE2: missing ): ('),
        (["find", "none.html", "--regex", ""], "the regular expression to find is empty"),
        (["find", "none.html", "a"], 'the page "none.html" is neither an address (http://, https://, file://) nor an'),
        (["report", "none"], "none is not a folder; name the folder of a run, which holds manifest.json."),
    ],
)
def test_bad_input_is_one_sentence(run: Run, arguments: Sequence[str], sentence: str) -> None:
    said = run(*arguments)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(f"axtrial: {sentence}")


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (b'colour = "red"', 'has a wrong key "colour": Extra inputs are not permitted; it may have arms, tasks, model'),
        (b'repeats = "2"', 'has a wrong key "repeats": Input should be a valid integer; it may have'),
        (b"repeats = 0", 'has a wrong key "repeats": Input should be greater than or equal to 1; it may have'),
        (b"arms = []", 'has a wrong key "arms": List should have at least 1 item after validation, not 0; it may have'),
        (b"arms = [5]", 'has a wrong key "arms.0": Input should be a valid string; it may have'),
        (b"seed = 100000000000000000000", 'has a wrong key "seed": '),
        (b"seed: 1", 'is not TOML: "'),
        (b"\xff\xfe", 'is not TOML: "'),
        (b"#" * 262_145, "is larger than 262144 bytes"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_spec_is_one_sentence(run: Run, tmp_path: Path, spec: bytes | None, sentence: str) -> None:
    if spec is not None:
        (tmp_path / "spec.toml").write_bytes(spec)
    said = run("run", "spec.toml")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(f'axtrial: the spec "spec.toml" {sentence}')


FAKE = ("run", "--arm", "fake/fake/verbatim")


def test_a_folder_that_is_not_empty_or_cannot_be_made_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    said = run(*FAKE, "--out", "full")
    sentence = 'the folder "full" is not empty; name another with --out, or use --resume'
    assert said == Said(2, "", f"axtrial: {sentence}\n")
    said = run(*FAKE, "--out", "full/file/below")
    assert said == Said(2, "", 'axtrial: the folder "full/file/below" cannot be used: Not a directory\n')


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (["--seed", "2"], "seed"),
        (["--repeats", "3"], "repeats"),
        (["--task", "notes"], "tasks"),
        (["--arm", "fake/fake/conservative", "--seed", "2"], "arms, seed"),
    ],
)
def test_a_run_is_not_resumed_with_another_spec(run: Run, tmp_path: Path, other: list[str], differs: str) -> None:
    same = build_spec(SpecFile(arms=["fake/fake/verbatim"]), known_tasks(None))
    manifest = {
        "arms": ["fake/fake/verbatim"],
        "tasks": [{"suite": task.suite, "name": task.name, "digest": task.digest} for task in same.tasks],
        "model": "scripted",
        "repeats": 2,
        "seed": 1,
        "fixtures": None,
        "protocol": "1",
        "prompt_digest": PROMPT_DIGEST,
        "spec_digest": same.digest(PROMPT_DIGEST),
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    said = run("run", "--resume", "--out", ".", *other)
    sentence = (
        f'the run in "." has another spec, which differs in {differs}; '
        "resume it with the same, or name another folder with --out"
    )
    assert said == Said(2, "", f"axtrial: {sentence}\n")


@pytest.mark.parametrize("manifest", ["[]", "{", '{"arms": 5}', "null"])
def test_a_damaged_manifest_is_not_resumed(run: Run, tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    said = run("run", "--resume", "--out", ".")
    assert said == Said(2, "", 'axtrial: "manifest.json" is damaged: the run cannot be resumed\n')
