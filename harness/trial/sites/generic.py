"""The site of every suite that has no module of its own: pages, and lists of records that they post."""

import re

from pydantic import JsonValue

from harness.trial.sites.base import FULL, MAX_RECORDS, NO_SUCH_CALL, ApiAnswer, ApiCall, PageReads

_PATH = re.compile(r"records/([A-Za-z0-9_-]{1,64})")


class GenericSite:
    """`POST api/records/NAME` appends its JSON body, `GET api/records/NAME` lists them.

    The summary is `{"records": {NAME: [body, ...]}, "reads": {PAGE: count}}`.
    """

    def __init__(self) -> None:
        self._records: dict[str, list[JsonValue]] = {}
        self._reads = PageReads()

    def note_read(self, page: str) -> None:
        """Count that a page was handed out."""
        self._reads.note(page)

    async def call(self, call: ApiCall) -> ApiAnswer:
        """Append or list records."""
        match = _PATH.fullmatch(call.path)
        if match is None:
            return NO_SUCH_CALL
        name = match[1]
        if call.method == "GET":
            return ApiAnswer(status=200, body=list(self._records.get(name, [])))
        if sum(map(len, self._records.values())) >= MAX_RECORDS:
            return FULL
        self._records.setdefault(name, []).append(call.body)
        return ApiAnswer(status=201, body={"count": len(self._records[name])})

    def summary(self) -> dict[str, JsonValue]:
        """All records in the order of their arrival, and the page reads."""
        records: dict[str, JsonValue] = {name: list(bodies) for name, bodies in self._records.items()}
        return {"records": records, "reads": self._reads.summary()}
