"""A long text in pages: each goes on exactly where the one before was cut, so that together they are the whole."""

import hashlib
from dataclasses import dataclass
from itertools import islice

from formatters.bound import Bounded, bound, bound_beginning, line_count
from formatters.nesting import nearest, walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a text.

    `seen` is a digest of the text up to its end, `before` of that before its start. `around` are the lines around its
    first one. `inside_line`: it begins within a line that the page before has cut. `goes_on`: there is a further page.
    """

    bounded: Bounded
    before: str
    seen: str
    around: tuple[str, ...]
    inside_line: bool
    goes_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A formatted read before it is cut at `limit` code points; `label` stands in the marks of the cuts.

    `nested`: indents of lines say what stands around them. Not `complete`: it is only the beginning, and the rest was
    not counted. `chars_total`: it is only the beginning of a text of so many code points.
    """

    text: str
    limit: int
    label: str
    nested: bool = True
    complete: bool = True
    chars_total: int | None = None

    def first(self) -> Bounded:
        """The first page, as every observation shows it."""
        if not self.complete:
            return bound_beginning(self.text, self.limit, self.label)
        return bound(self.text, self.limit, self.label, chars_total=self.chars_total)

    def page(self, number: int) -> Page | None:
        """The page of that number, from 1; None: the text ends before it."""
        start, end = 0, self._cut(0)
        for _ in range(number - 1):
            if end == len(self.text):
                return None
            start = end + (self.text[end] == "\n")
            end = self._cut(start)
        return Page(
            bounded=self.first() if number == 1 else self._later(start, end),
            before=_digest(self.text[: start - (start > 0 and self.text[start - 1] == "\n")]),
            seen=_digest(self.text[:end]),
            around=self._around(start),
            inside_line=start > 0 and self.text[start - 1] != "\n",
            goes_on=end < len(self.text),
        )

    def beyond(self) -> Bounded:
        """What a page shows that begins behind the end of the text."""
        total = len(self.text) if self.chars_total is None else self.chars_total
        lines = line_count(self.text)
        return Bounded(text="", truncated=False, chars_shown=0, chars_total=total, lines_shown=0, lines_total=lines)

    def _cut(self, start: int) -> int:
        """Where the page that begins there ends: at the rule of `bound`, which cuts the first one."""
        most = start + self.limit
        if len(self.text) <= most:
            return len(self.text)
        cut = self.text.rfind("\n", start, most + 1)
        return most if cut == -1 else cut

    def _later(self, start: int, end: int) -> Bounded:
        shown = self.text[start:end]
        lines_before, lines_shown = self.text.count("\n", 0, start), line_count(shown)
        lines_total = line_count(self.text) if self.complete else None
        chars_total = (len(self.text) if self.chars_total is None else self.chars_total) if self.complete else None
        chars = f"characters {start + 1} to {end}"
        lines = f"lines {lines_before + 1} to {lines_before + lines_shown}"
        of_all = (
            f"{chars} of {chars_total}, {lines} of {lines_total} shown"
            if self.complete
            else f"{chars}, {lines} shown; the rest not counted"
        )
        truncated = end < len(self.text) or self.chars_total is not None or not self.complete
        return Bounded(
            text=f"{shown}\n[{self.label} truncated: {of_all}]" if truncated else shown,
            truncated=truncated,
            chars_shown=end - start,
            chars_total=chars_total,
            lines_shown=lines_shown,
            lines_total=lines_total,
        )

    def _around(self, start: int) -> tuple[str, ...]:
        if start == 0 or not self.nested:
            return ()
        lines = self.text.split("\n")
        first = self.text.count("\n", 0, start)
        around = next(islice(walk(lines), first, None)).around
        return tuple(shown for _, shown in nearest(lines, around))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
