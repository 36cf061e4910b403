"""How long each leg of one call may take. Inner waits end first, so that whoever asked hears the most precise reason.

The operation on the page has the call's own bound. The channel inside the parent waits for it and for the end of a page
that is closed after a time-out; the child waits for that and for the way over the socket.
"""

MARGIN_S = 2.0
"""Seconds that each leg has beyond the one inside it."""

REAP_S = 1.0
"""Seconds of the channel's margin in which a page is closed before the answer is given; the place is free at once."""

ABORT_S = 3.0
"""Seconds in which a cancelled call must be acknowledged; then it is given up."""


def channel_s(bound_ms: int) -> float:
    """Seconds for which the channel waits for an operation."""
    return bound_ms / 1000 + MARGIN_S


def child_s(bound_ms: int) -> float:
    """Seconds for which a child waits for its parent."""
    return channel_s(bound_ms) + MARGIN_S
