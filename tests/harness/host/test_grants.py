import pytest

from harness.host.grants import Decision, Grants, Status
from harness.host.scope import ApprovalScope, RuntimeKey
from observe.errors import Revoked, Stopped


def scope(registration: int, revision: int = 0, driver: str = "current") -> ApprovalScope:
    key = RuntimeKey(target="local", driver=driver, profile="P")
    return ApprovalScope(key=key, revision=revision, registration=registration)


@pytest.mark.parametrize(
    ("decision", "this", "next_session"),
    [("once", "granted", "unasked"), ("always", "granted", "granted"), ("deny", "denied", "unasked")],
)
def test_answers(decision: Decision, this: Status, next_session: Status) -> None:
    grants = Grants()
    grants.register("ada", "s1", Revoked)
    pending = grants.ask("s1", "ada", scope(1))

    assert grants.answer(pending, decision, scope(1))

    assert grants.status("s1", scope(1)) == this
    assert grants.register("ada", "s2", Revoked).number == 2
    assert grants.status("s2", scope(2)) == next_session
    assert grants.register("bob", "s3", Revoked).number == 3
    assert grants.status("s3", scope(3)) == "unasked"


def test_an_answer_counts_once_and_only_for_the_latest_question() -> None:
    grants = Grants()
    grants.register("ada", "s", Revoked)
    first = grants.ask("s", "ada", scope(1))
    second = grants.ask("s", "ada", scope(1))

    assert not grants.answer(first, "once", scope(1))
    assert grants.status("s", scope(1)) == "unasked"
    assert grants.answer(second, "once", scope(1))
    assert not grants.answer(second, "deny", scope(1))
    assert grants.status("s", scope(1)) == "granted"


@pytest.mark.parametrize("now", [None, scope(2), scope(1, revision=1), scope(1, driver="agent-browser")])
def test_an_answer_for_another_scope_grants_nothing(now: ApprovalScope | None) -> None:
    grants = Grants()
    grants.register("ada", "s", Revoked)
    pending = grants.ask("s", "ada", scope(1))

    assert not grants.answer(pending, "always", now)

    assert grants.status("s", scope(1)) == "unasked"
    if now is not None:
        assert grants.status("s", now) == "unasked"


def test_a_grant_is_for_its_scope_alone() -> None:
    grants = Grants()
    grants.register("ada", "s", Revoked)
    grants.answer(grants.ask("s", "ada", scope(1)), "always", scope(1))

    assert grants.status("s", scope(1, revision=1)) == "unasked"
    assert grants.status("s", scope(1, driver="agent-browser")) == "unasked"
    assert grants.status("other", scope(1)) == "unasked"


def test_an_end_takes_everything_and_keeps_the_reason() -> None:
    grants = Grants()
    registration = grants.register("ada", "s", Revoked)
    interrupted: list[str] = []
    registration.interrupts.add(lambda: interrupted.append("once"))
    grants.answer(grants.ask("s", "ada", scope(1)), "once", scope(1))
    late = grants.ask("s", "ada", scope(1))

    grants.end("s", Stopped)
    grants.end("s", Revoked)
    registration.end(Revoked)

    assert (registration.ended, interrupted, grants.live("s"), grants.reason("s")) == (Stopped, ["once"], None, Stopped)
    assert (grants.latest_end(registration.bot), grants.latest_end("nobody")) == (Stopped, None)
    assert grants.status("s", scope(1)) == "unasked"
    assert not grants.answer(late, "once", scope(1))
    grants.forget("s")
    assert grants.reason("s") is None


def test_the_latest_end_of_a_bot_is_that_of_the_session_that_ended_last() -> None:
    grants = Grants()
    for session, bot in (("s", "ada"), ("t", "ada"), ("u", "bob")):
        grants.register(bot, session, Revoked)
    ends = [grants.latest_end("ada")]
    for session, reason in (("s", Stopped), ("t", Revoked), ("u", Stopped)):
        grants.end(session, reason)
        ends.append(grants.latest_end("ada"))
    grants.register("ada", "s", Revoked)
    grants.end("s", Stopped)
    ends.append(grants.latest_end("ada"))
    grants.forget("s")
    ends.append(grants.latest_end("ada"))

    assert ends == [None, Stopped, Revoked, Revoked, Stopped, Revoked]


def test_numbers_are_never_used_again() -> None:
    grants = Grants()
    first = grants.register("ada", "s", Revoked)
    second = grants.register("ada", "s", Revoked)
    grants.end("s", Revoked)
    third = grants.register("ada", "s", Revoked)

    assert [first.number, second.number, third.number] == [1, 2, 3]
    assert [first.ended, second.ended, third.ended] == [Revoked, Revoked, None]
    assert grants.sessions("ada") == ("s",)


def test_a_dropped_rule_asks_again() -> None:
    grants = Grants()
    grants.register("ada", "s1", Revoked)
    grants.answer(grants.ask("s1", "ada", scope(1)), "always", scope(1))
    grants.drop_rule("ada")
    grants.register("ada", "s2", Revoked)

    assert grants.status("s1", scope(1)) == "granted"
    assert grants.status("s2", scope(2)) == "unasked"
