"""What a suite's server logic is. Knows no HTTP library, so that its rules are tested without a server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

MAX_RECORDS = 1_000
"""Entries of any list that one fixture run keeps: a page in a loop must not fill the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One request below a run's `api/`. `path` is what follows it; `body` is decoded JSON, None for GET."""

    method: str
    path: str
    query: Mapping[str, str]
    body: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """A status with a JSON body."""

    status: int
    body: JsonValue


NO_SUCH_CALL = ApiAnswer(status=404, body={"error": "There is no such call."})
FULL = ApiAnswer(status=429, body={"error": f"This run keeps {MAX_RECORDS} records and takes no more."})


class Site(Protocol):
    """The state of one fixture run."""

    def note_read(self, page: str) -> None:
        """Count that a page was handed out; `page` is its address below the run's."""
        ...

    async def call(self, call: ApiCall) -> ApiAnswer:
        """Answer one request."""
        ...

    def summary(self) -> dict[str, JsonValue]:
        """The state, as a task's `expected` is compared with."""
        ...


class PageReads:
    """How often each page was handed out. The addresses are those of the task's files, so their number is bounded."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def note(self, page: str) -> None:
        """Count one read."""
        self._counts[page] = self._counts.get(page, 0) + 1

    def summary(self) -> dict[str, JsonValue]:
        """Page to count; pages that were never read are not in it."""
        return dict(self._counts)
