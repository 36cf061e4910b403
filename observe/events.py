"""Console and network of one page in bounded buffers: the oldest entry goes when a further one comes, and is counted.

Page text in them is bounded by whoever adds an entry; see `bounded_text`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_ENTRIES = 1_000
"""Entries of each buffer of a page (ADR-0031)."""

MAX_TEXT_CHARS = 2_048
"""Code points of one entry's text or address: enough to recognise a fault, too little to flood the memory."""


def bounded_text(text: str, bound: int = MAX_TEXT_CHARS) -> str:
    """The text, or its beginning with a mark that says how much it was."""
    return text if len(text) <= bound else f"{text[:bound]}[cut: {bound} of {len(text)} characters]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleEntry:
    """One console message or uncaught error. `location` is `url:line`, empty where it is not known."""

    time: str
    kind: str
    text: str
    location: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class NetworkEntry:
    """One request, entered when it starts and filled in later. `status` None: no answer (yet).

    `failure` is Chrome's reason, None where it did not fail. Headers have lower-case names, and no secret in them.
    """

    method: str
    url: str
    request_headers: dict[str, str]
    status: int | None = None
    failure: str | None = None
    response_headers: dict[str, str] = field(default_factory=dict)
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken(Generic[T]):
    """What a read of a buffer gives, oldest first. `dropped`: entries that went unread since the last clearing read."""

    entries: tuple[T, ...] = ()
    dropped: int = 0


class Ring(Generic[T]):
    """At most `capacity` entries."""

    def __init__(self, capacity: int = MAX_ENTRIES) -> None:
        self._entries: deque[T] = deque(maxlen=capacity)
        self._dropped = 0

    def add(self, entry: T) -> None:
        """Add the newest entry."""
        self._dropped += len(self._entries) == self._entries.maxlen
        self._entries.append(entry)

    def take(self, *, clear: bool, stays: Callable[[T], bool] = lambda _entry: False) -> Taken[T]:
        """All entries; `clear` empties the buffer but for those that `stays` names, which are still to be filled in."""
        taken = Taken(entries=tuple(self._entries), dropped=self._dropped)
        if clear:
            kept = [entry for entry in self._entries if stays(entry)]
            self._entries.clear()
            self._entries.extend(kept)
            self._dropped = 0
        return taken
