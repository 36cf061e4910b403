"""What a bot searches for: a text, or a regular expression of an engine whose time is linear in the text."""

import re
from dataclasses import dataclass, field
from typing import Literal, Protocol

import re2

from formatters.errors import BadPattern
from formatters.escape import encodable, json_string
from observe.model import SearchedElement

MAX_PROGRAM_BYTES = 256 * 1024
"""Memory of a compiled pattern: ample for any that a bot means, and some 2.5 s for a million characters at worst."""


class Search(Protocol):
    """Something to look for. What is searched is one line, of which indent and dash are not part."""

    @property
    def shown(self) -> str:
        """The search in words, on one line."""
        ...

    def holds(self, text: str) -> bool:
        """Whether it is in this text."""
        ...

    def place(self, text: str) -> int:
        """About where it begins in a text that has it."""
        ...


@dataclass(frozen=True, slots=True)
class TextSearch:
    """A part of a text, whatever its case and white space. `text` is not empty once folded."""

    text: str
    _wanted: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not (wanted := _folded(self.text)):
            raise BadPattern("the text to find is empty")
        quoted = _folded(json_string(self.text.strip())[1:-1])  # names stand in lines as JSON strings
        object.__setattr__(self, "_wanted", (wanted, quoted))

    @property
    def shown(self) -> str:
        return f"text {json_string(self.text)}"

    def holds(self, text: str) -> bool:
        folded = _folded(text)
        return any(wanted in folded for wanted in self._wanted)

    def place(self, text: str) -> int:
        words = map(re.escape, self.text.split())
        found = re.search(r"\s+".join(words), text, re.IGNORECASE)
        return 0 if found is None else found.start()


@dataclass(frozen=True, slots=True)
class RegexSearch:
    """A regular expression in the syntax of RE2: no look-around, no back-references."""

    pattern: str
    _compiled: "re2._Regexp" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.pattern:
            raise BadPattern("the regular expression to find is empty")
        options = re2.Options()
        options.max_mem, options.log_errors = MAX_PROGRAM_BYTES, False
        try:
            compiled = re2.compile(encodable(self.pattern), options)
        except re2.error as error:
            why = error.args[0].decode("utf-8", "replace") if error.args else "unknown"
            raise BadPattern(f"{json_string(self.pattern)} is no regular expression of RE2: {_one(why)}") from error
        object.__setattr__(self, "_compiled", compiled)

    @property
    def shown(self) -> str:
        return f"regex {json_string(self.pattern)}"

    def holds(self, text: str) -> bool:
        return self._compiled.search(encodable(text)) is not None

    def place(self, text: str) -> int:
        found = self._compiled.search(encodable(text))
        return 0 if found is None else int(found.start())


def make_search(kind: Literal["text", "regex"], given: str) -> Search:
    """The search for it.

    Raises:
        BadPattern: it is empty, or no regular expression.
    """
    return TextSearch(given) if kind == "text" else RegexSearch(given)


def element_matches(search: Search, element: SearchedElement) -> bool:
    """Whether an element has it: in its role and name as a line shows them, its name, its value, or its row's text."""
    line = f"{element.role} {json_string(element.name)}"
    return any(search.holds(text) for text in (line, element.name, element.value, element.row) if text is not None)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _one(why: str) -> str:
    return json_string(why)[1:-1]
