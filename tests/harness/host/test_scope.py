import pytest

from harness.host.scope import ApprovalScope, Choice, RuntimeKey

KEY = RuntimeKey(target="local", driver="current", profile="P")
SCOPE = ApprovalScope(key=KEY, revision=1, registration=2)


@pytest.mark.parametrize(
    "other",
    [
        ApprovalScope(key=RuntimeKey(target="container", driver="current", profile="P"), revision=1, registration=2),
        ApprovalScope(key=RuntimeKey(target="local", driver="agent-browser", profile="P"), revision=1, registration=2),
        ApprovalScope(key=RuntimeKey(target="local", driver="current", profile="Q"), revision=1, registration=2),
        ApprovalScope(key=KEY, revision=2, registration=2),
        ApprovalScope(key=KEY, revision=1, registration=3),
    ],
)
def test_a_scope_is_compared_as_a_whole(other: ApprovalScope) -> None:
    assert other != SCOPE
    assert ApprovalScope(key=KEY, revision=1, registration=2) == SCOPE


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), ("local", "current")),
        (Choice(drivers={"container": "agent-browser"}), ("local", "current")),
        (Choice(drivers={"local": "agent-browser"}), ("local", "agent-browser")),
        (Choice(target="container", drivers={"local": "agent-browser"}), ("container", "current")),
    ],
)
def test_each_target_has_its_own_driver(choice: Choice, expected: tuple[str, str]) -> None:
    assert choice.key("P") == RuntimeKey(target=expected[0], driver=expected[1], profile="P")
