"""The facts planted in the pages, and how many of them a text keeps.

A fact is a word that stands nowhere else on its page, and for a state also one of the words that tell it, on the line
of the word or on a neighbouring one: some tools write a control's name and its state on lines of their own.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PLANTED = 22
"""Facts on each page."""

NEAR = 12
"""Of these, so many stand near the start, before a cut at 12,000 characters."""

_SYLLABLES = ("bra", "vel", "zom", "tik", "qua", "dro", "fen", "gul", "hix", "jor", "kep", "lum", "mav", "nyx", "pol")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What is to be found: `word`, and beside it one of the patterns of `beside`, where there are any."""

    word: str
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A piece of a page and the facts in it."""

    html: str
    facts: tuple[Fact, ...]


def made_words() -> Iterator[str]:
    """Words that no language has, none of which is a part of another."""
    for first in _SYLLABLES:
        for second in _SYLLABLES:
            for third in _SYLLABLES:
                if len({first, second, third}) == 3:
                    yield f"{first}{second}{third}".capitalize()


CHECKED = (r"\bchecked\b(?!\s*[=:]\s*['\"]?false)", r"\[x\]")
DISABLED = (r"\bdisabled\b(?!\s*[=:]\s*['\"]?false)",)
PRESSED = (r"\bpressed\b(?!\s*[=:]\s*['\"]?false)",)
EXPANDED = (r"\bexpanded\b(?!\s*[=:]\s*['\"]?false)",)


def chosen(word: str) -> tuple[str, ...]:
    """An option is told as chosen by a mark, or as its field's value; a list of all options does not tell it."""
    value = r"""(?:\bvalue|\bcurrent\w*|[\]"'])\s*[:=]\s*['"]?"""
    return (r"\bselected\b(?!\s*[=:]\s*['\"]?false)", rf"{value}{word}\b")


def kept(text: str, facts: Iterable[Fact]) -> int:
    """How many of the facts the text keeps."""
    lines = text.split("\n")
    return sum(_keeps(lines, fact) for fact in facts)


def _keeps(lines: list[str], fact: Fact) -> bool:
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(fact.word)}(?![A-Za-z0-9])", re.IGNORECASE)
    for number, line in enumerate(lines):
        if word.search(line) is None:
            continue
        around = "\n".join(lines[max(0, number - 1) : number + 2])
        if not fact.beside or any(re.search(pattern, around, re.IGNORECASE) for pattern in fact.beside):
            return True
    return False


def general_fragments(word: Iterator[str]) -> tuple[tuple[Fragment, ...], tuple[Fragment, ...]]:
    """The facts of every page but the form: 12 for the start, 10 for the rest; on 20 elements or so."""
    near = (
        _named("<h1>{}</h1>", word),
        _stated("<button disabled>{}</button>", word, DISABLED),
        _stated("<button aria-pressed='true'>{}</button>", word, PRESSED),
        _named("<a href='/there'>{}</a>", word),
        _named("<ul><li>{}</li><li>{}</li></ul>", word, 2),
        _named("<label>{} <input value='{}'></label>", word, 2),
        _stated("<label><input type='checkbox' checked> {}</label>", word, CHECKED),
    )
    far = (
        _named("<h2>{}</h2>", word),
        _named("<ul><li>{}</li><li>{}</li></ul>", word, 2),
        _named("<label>{} <input value='{}'></label>", word, 2),
        _stated("<button aria-expanded='true'>{}</button>", word, EXPANDED),
        _named("<p>{}</p>", word),
        _named("<a href='/there'>{}</a>", word),
        _named("<button>{}</button>", word),
    )
    return near, far


def form_fragments(word: Iterator[str]) -> tuple[tuple[Fragment, ...], tuple[Fragment, ...]]:
    """The facts of the form page, 12 of them for its start: values, choices, states and a hint."""
    near = (
        *(_value(word) for _ in range(5)),
        *(_choice(word) for _ in range(2)),
        *(_box(word) for _ in range(3)),
        _fact("<label>{} <input value='{}' disabled></label>", word, DISABLED),
        _radio(word),
    )
    far = (
        *(_value(word) for _ in range(3)),
        *(_choice(word) for _ in range(2)),
        _box(word),
        _fact("<label>{} <input value='{}' disabled></label>", word, DISABLED),
        _radio(word),
        _fact("<label>{} <textarea>{}</textarea></label>", word, (), planted=1),
        _named("<p>{} must be filled in before the form is sent.</p>", word),
    )
    return near, far


def _named(html: str, word: Iterator[str], count: int = 1) -> Fragment:
    words = [next(word) for _ in range(count)]
    return Fragment(html=html.format(*words), facts=tuple(Fact(word=each) for each in words))


def _stated(html: str, word: Iterator[str], state: tuple[str, ...]) -> Fragment:
    """Two facts: the name, and its state."""
    name = next(word)
    return Fragment(html=html.format(name), facts=(Fact(word=name), Fact(word=name, beside=state)))


def _fact(html: str, word: Iterator[str], beside: tuple[str, ...], planted: int = 0) -> Fragment:
    """One fact of a fragment of two words: the one at `planted`."""
    words = (next(word), next(word))
    return Fragment(html=html.format(*words), facts=(Fact(word=words[planted], beside=beside),))


def _value(word: Iterator[str]) -> Fragment:
    return _fact("<label>{} <input value='{}'></label>", word, (), planted=1)


def _choice(word: Iterator[str]) -> Fragment:
    name, value = next(word), next(word)
    options = f"<option>none of these<option selected>{value}<option>something else"
    return Fragment(
        html=f"<label>{name} <select>{options}</select></label>", facts=(Fact(word=value, beside=chosen(value)),)
    )


def _box(word: Iterator[str]) -> Fragment:
    return _checkable("<label><input type='checkbox' checked> {}</label>", word)


def _radio(word: Iterator[str]) -> Fragment:
    return _checkable("<label><input type='radio' checked> {}</label>", word)


def _checkable(html: str, word: Iterator[str]) -> Fragment:
    name = next(word)
    return Fragment(html=html.format(name), facts=(Fact(word=name, beside=CHECKED),))
