"""What the scripted bot of the MiniWoB benchmark does, from the goal alone."""

import pytest

from tests.benchmarks.miniwob.policies import POLICIES, Act

CASES: list[tuple[str, str, list[Act]]] = [
    ("click-button", 'Click on the "ok" button.', [Act("button", "ok")]),
    (
        "click-checkboxes",
        "Select wJ4, bs and click Submit.",
        [Act("checkbox", "wJ4"), Act("checkbox", "bs"), Act("button", "Submit")],
    ),
    ("click-checkboxes", "Select nothing and click Submit.", [Act("button", "Submit")]),
    ("click-option", "Select Vb and click Submit.", [Act("radio", "Vb"), Act("button", "Submit")]),
    ("click-tab", "Click on Tab #2.", [Act("tab", "Tab #2")]),
    ("click-test", "Click the button.", [Act("button", "Click Me!")]),
    ("click-test-2", "Click button ONE.", [Act("button", "ONE")]),
    (
        "enter-text",
        'Enter "Ida" into the text field and press Submit.',
        [Act("textbox", text="Ida"), Act("button", "Submit")],
    ),
    (
        "login-user",
        'Enter the username "ida" and the password "x9" into the text fields and press login.',
        [Act("textbox", text="ida"), Act("textbox", text="x9", number=1), Act("button", "Login")],
    ),
]


@pytest.mark.parametrize(("task", "goal", "acts"), CASES)
def test_a_policy_acts_by_the_goal(task: str, goal: str, acts: list[Act]) -> None:
    assert POLICIES[task](goal) == acts


def test_every_policy_has_a_case() -> None:
    assert {task for task, _, _ in CASES} == set(POLICIES)
