import pytest

from harness.host.control import Control, invalidate, observed, pause, refusal, reset, resume
from observe.errors import AuthorityChanged, Paused, ResumedSince

FRESH = Control()
PAUSED = Control(paused=True, revision=1)
RESUMED = Control(revision=2)
SEEN = Control(revision=2, observed=2)


def test_the_transitions() -> None:
    assert pause(FRESH) == PAUSED
    assert pause(PAUSED) == PAUSED
    assert resume(PAUSED) == RESUMED
    assert resume(FRESH) == FRESH
    assert observed(RESUMED, 2) == SEEN
    assert observed(RESUMED, 1) == RESUMED
    assert observed(PAUSED, 1) == PAUSED
    assert invalidate(PAUSED) == Control(paused=True, revision=2, invalidation=1)
    assert reset(PAUSED) == Control(paused=False, revision=2, invalidation=1)


@pytest.mark.parametrize(
    ("now", "issued", "tool", "expected"),
    [
        (FRESH, 0, "observe", None),
        (FRESH, 0, "click", None),
        (PAUSED, 1, "observe", None),
        (PAUSED, 1, "find", None),
        (PAUSED, 1, "screenshot", Paused),
        (PAUSED, 1, "click", Paused),
        (PAUSED, 1, "open", Paused),
        (PAUSED, 1, "tabs", Paused),
        (PAUSED, 1, "wait", Paused),
        (PAUSED, 0, "observe", Paused),
        (PAUSED, 0, "click", Paused),
        (RESUMED, 0, "observe", ResumedSince),
        (RESUMED, 1, "observe", ResumedSince),
        (RESUMED, 1, "screenshot", ResumedSince),
        (RESUMED, 2, "observe", None),
        (RESUMED, 2, "open", None),
        (RESUMED, 2, "screenshot", None),
        (RESUMED, 2, "wait", None),
        (RESUMED, 2, "tabs", None),
        (RESUMED, 2, "click", ResumedSince),
        (RESUMED, 2, "type", ResumedSince),
        (RESUMED, 2, "select_option", ResumedSince),
        (RESUMED, 2, "press_key", ResumedSince),
        (RESUMED, 2, "scroll", ResumedSince),
        (RESUMED, 2, "upload", ResumedSince),
        (RESUMED, 2, "dialog", None),
        (SEEN, 2, "click", None),
        (SEEN, 1, "click", ResumedSince),
    ],
)
def test_what_a_call_may_do(now: Control, issued: int, tool: str, expected: type[AuthorityChanged] | None) -> None:
    assert refusal(now, issued, tool) is expected
