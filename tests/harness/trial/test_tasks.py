"""The task loader: our own fixtures, a user's folder, and each way in which a folder can be wrong."""

from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.models.script import Step
from harness.trial.tasks import Limits, load_tasks

FIXTURES = Path(__file__).parents[3] / "fixtures"

PLAIN = """
goal = "Say hello at {base}hello."
[limits]
calls = 3
seconds = 5
[expected.records]
greetings = ["hello"]
"""


def write_task(root: Path, text: str = PLAIN, name: str = "greet/once") -> Path:
    folder = root / name
    (folder / "pages" / "more").mkdir(parents=True)
    (folder / "pages" / "hello.html").write_text("<p>hello", encoding="utf-8")
    (folder / "pages" / "more" / "style.css").write_text("p {}", encoding="utf-8")
    (folder / "task.toml").write_text(text, encoding="utf-8")
    return folder


def test_our_fixtures_are_the_two_tasks_of_the_protocol_and_those_run_where_named() -> None:
    tasks = load_tasks(FIXTURES)
    assert {key: (task.limits, sorted(task.files)) for key, task in tasks.items() if not task.default} == {
        "long/one-of-many": (Limits(calls=20, seconds=180), ["ledger"]),
    }
    assert {key: (task.limits, sorted(task.files)) for key, task in tasks.items() if task.default} == {
        "notes/two-notes": (Limits(calls=20, seconds=180), ["one", "two"]),
        "orders/limited-order": (Limits(calls=50, seconds=300), ["desk", "order", "reference"]),
    }


@pytest.mark.parametrize(
    ("key", "waits"), [("notes/two-notes", 800), ("orders/limited-order", 4200), ("long/one-of-many", 400)]
)
def test_our_scripts_fit_their_limits_and_wait_as_prescribed(key: str, waits: int) -> None:
    task = load_tasks(FIXTURES)[key]
    assert len(task.script) <= task.limits.calls
    assert [step.tool for step in task.script[:2]] == ["open", "observe"]
    assert sum(step.ms or 0 for step in task.script) == waits
    assert len(set(task.facts)) == len(task.facts) >= 12


def test_a_users_task_needs_no_script_and_no_server_logic(tmp_path: Path) -> None:
    folder = write_task(tmp_path)
    task = load_tasks(tmp_path)["greet/once"]
    assert (task.key, task.site, task.script, task.facts) == ("greet/once", "generic", (), ())
    assert task.files == {
        "hello": folder / "pages" / "hello.html",
        "more/style.css": folder / "pages" / "more" / "style.css",
    }


def test_the_right_state_is_that_of_the_expected_parts_alone(tmp_path: Path) -> None:
    write_task(tmp_path)
    task = load_tasks(tmp_path)["greet/once"]
    assert task.is_right({"records": {"greetings": ["hello"]}, "reads": {"hello": 2}})
    assert not task.is_right({"records": {"greetings": ["hello", "hello"]}})
    assert not task.is_right({"records": {"greetings": ["hello"], "other": []}})
    assert not task.is_right({"reads": {}})


def test_true_is_not_the_number_one(tmp_path: Path) -> None:
    write_task(tmp_path, PLAIN.replace('["hello"]', "[1]"))
    task = load_tasks(tmp_path)["greet/once"]
    assert task.is_right({"records": {"greetings": [1]}})
    assert not task.is_right({"records": {"greetings": [True]}})


def test_the_digest_follows_names_and_bytes(tmp_path: Path) -> None:
    digests = []
    folder = write_task(tmp_path)
    digests.append(load_tasks(tmp_path)["greet/once"].digest)
    (folder / "pages" / "hello.html").write_text("<p>hell", encoding="utf-8")
    digests.append(load_tasks(tmp_path)["greet/once"].digest)
    (folder / "pages" / "more" / "style.css").rename(folder / "pages" / "more" / "other.css")
    digests.append(load_tasks(tmp_path)["greet/once"].digest)
    (folder / "pages" / "hello.html").write_text("<p>hello", encoding="utf-8")
    (folder / "pages" / "more" / "other.css").rename(folder / "pages" / "more" / "style.css")
    assert load_tasks(tmp_path)["greet/once"].digest == digests[0]
    assert len(set(digests)) == 3


SCRIPT = '\n[[script]]\ntool = "open"\nurl = "hello"\n[[script]]\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("goal = ", "not TOML: Invalid value (at end of document)"),
        (PLAIN.replace("goal", "aim"), "goal: Field required"),
        ('colour = "red"\n' + PLAIN, "colour: Extra inputs are not permitted"),
        (PLAIN.replace("3", '"3"'), "limits.calls: Input should be a valid integer"),
        (PLAIN.replace("3", "0"), "limits.calls: Input should be greater than or equal to 1"),
        ('site = "shop"\n' + PLAIN, "site: Input should be 'generic' or 'orders'"),
        (PLAIN + SCRIPT + 'tool = "open"\nurl = "two"', "script.1.url: no page 'two' in pages/"),
        (PLAIN + SCRIPT + 'tool = "click"', "script.1: Value error, click needs on"),
        (
            PLAIN + SCRIPT + 'tool = "type"\non = \'textbox "A"\'\ntext = "{a}"',
            "script: step 2 uses {a}, which no earlier step reads",
        ),
    ],
)
def test_a_wrong_task_is_one_sentence_with_file_and_key(tmp_path: Path, text: str, reason: str) -> None:
    folder = write_task(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        load_tasks(tmp_path)
    assert caught.value.message == f"{folder / 'task.toml'}: {reason}"


def test_a_task_that_is_not_text_is_refused(tmp_path: Path) -> None:
    folder = write_task(tmp_path)
    (folder / "task.toml").write_bytes(b"goal\xff")
    with pytest.raises(SpecError, match=r"not UTF-8 at byte 4$"):
        load_tasks(tmp_path)


def test_a_link_in_a_task_is_refused(tmp_path: Path) -> None:
    folder = write_task(tmp_path)
    (folder / "pages" / "out.html").symlink_to(tmp_path)
    with pytest.raises(SpecError, match=r"out\.html: a link; a task's folder holds its own files only$"):
        load_tasks(tmp_path)


def test_a_folder_name_that_no_row_can_carry_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path, name="greet/two words")
    with pytest.raises(SpecError, match="folder 'two words' must be lower-case letters"):
        load_tasks(tmp_path)


def test_a_missing_and_an_empty_root_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="not a folder"):
        load_tasks(tmp_path / "nowhere")
    with pytest.raises(SpecError, match="no task in it"):
        load_tasks(tmp_path)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"tool": "fly"}, "Input should be 'open'"),
        ({"tool": "observe", "ms": 1}, "observe does not take ms"),
        ({"tool": "wait", "ms": 10_001}, "less than or equal to 10000"),
        ({"tool": "click", "on": "Save"}, "must be a role and a quoted name"),
        ({"tool": "observe", "state": {"checked": True}}, "beside and state need on"),
        ({"tool": "observe", "read": {"a": "no group"}}, "'a' must have exactly one group, it has 0"),
        ({"tool": "observe", "read": {"a": "("}}, "'a' is not a regular expression"),
        ({"tool": "observe", "read": {"A": "(x)"}}, "'A' must be lower-case"),
        ({"tool": "click", "on": 'button "A"', "state": {"open": True}}, "Input should be 'value'"),
    ],
)
def test_a_wrong_step_is_refused(step: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Step.model_validate(step)
