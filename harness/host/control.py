"""Pause, resume, stop of one bot as pure transitions, and what a call may do in each state.

Revisions only rise. A call carries the control revision under which it was issued; after any change it refuses, whether
it was queued, in flight or about to answer.
"""

from dataclasses import dataclass, replace

from observe.errors import AuthorityChanged, Paused, ResumedSince

OBSERVES = frozenset({"observe", "find"})
"""What shows a page to the bot, with refs that it may then act on."""

WHILE_PAUSED = OBSERVES
"""All that a paused bot may do; not even a screenshot."""

TELLS_OF_CONTROL = frozenset({"takeover"})
"""What asks for a person and waits until one has let go: it touches no page, and the pause is what it waits through."""

NEEDS_FRESH = frozenset({"click", "type", "select_option", "press_key", "scroll", "upload"})
"""What acts on a page that the bot must have seen since the latest change. An open dialog is told by every refusal, and
nothing can be observed before it is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The state of one bot.

    `revision` rises at every pause, resume and invalidation; `observed` is the revision of the latest observation that
    counts; `invalidation` rises where late answers to a person must be dropped: stop, revoke, idle close, switch.
    """

    paused: bool = False
    revision: int = 0
    observed: int = 0
    invalidation: int = 0


def pause(now: Control) -> Control:
    """Only observing is left; a paused bot stays as it is."""
    return now if now.paused else replace(now, paused=True, revision=now.revision + 1)


def resume(now: Control) -> Control:
    """Everything is allowed again, input after a fresh observation; a bot that is not paused stays as it is."""
    return replace(now, paused=False, revision=now.revision + 1) if now.paused else now


def invalidate(now: Control) -> Control:
    """The authority ended. A pause stays: only a person's Resume or a switch ends it."""
    return replace(now, revision=now.revision + 1, invalidation=now.invalidation + 1)


def reset(now: Control) -> Control:
    """The browser is another one: no pause is left, and nothing of before counts."""
    return replace(invalidate(now), paused=False)


def observed(now: Control, issued: int) -> Control:
    """An observation that was issued under that revision has ended well; one of a paused bot does not count."""
    return now if now.paused or issued != now.revision else replace(now, observed=issued)


def refusal(now: Control, issued: int, tool: str) -> type[AuthorityChanged] | None:
    """What stops a call of `tool` that was issued under the revision `issued`; None: it may go on."""
    if tool in TELLS_OF_CONTROL:
        return None
    if now.paused and (tool not in WHILE_PAUSED or issued != now.revision):
        return Paused
    if issued != now.revision or (tool in NEEDS_FRESH and now.observed != now.revision):
        return ResumedSince
    return None
