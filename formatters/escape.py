"""Escapes that keep hostile page text on one line and in one direction.

Everything that some reader takes for a line break, that turns the direction of text, or that no encoding can write is
put as JSON would put it (`\\n`, `\\u2028`), with lower-case hex.
"""

import re
from json.encoder import encode_basestring

_UNSAFE_CLASS = "\\x85\\u2028\\u2029\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff"

_UNSAFE = re.compile(f"[{_UNSAFE_CLASS}]")
"""What JSON leaves raw and a line must not hold: U+0085, U+2028, U+2029, bidi controls, lone surrogates."""

_UNSAFE_OR_CONTROL = re.compile(f"[\\x00-\\x1f{_UNSAFE_CLASS}]")

_UNSAFE_BUT_LAYOUT = re.compile(f"[\\x00-\\x08\\x0b-\\x1f{_UNSAFE_CLASS}]")

_SURROGATE = re.compile("[\\ud800-\\udfff]")

_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def json_string(text: str) -> str:
    """The text as a JSON string with its quotes; what JSON leaves raw and a line must not hold is escaped too."""
    return _escaped(_UNSAFE, encode_basestring(text))


def one_line(text: str) -> str:
    """The text on one line: controls and unsafe characters escaped, quotes and backslashes left as they are."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE_OR_CONTROL.sub(_replacement, text)


def plain_lines(text: str) -> str:
    """The text with LF as its only line break: LF and TAB stay, other controls and unsafe characters are escaped."""
    return _UNSAFE_BUT_LAYOUT.sub(_replacement, text)


def encodable(text: str) -> str:
    """The text with lone surrogates escaped, so that UTF-8 can write it; nothing else changes."""
    return _escaped(_SURROGATE, text)


def _escaped(pattern: re.Pattern[str], text: str) -> str:
    if text.isascii():
        return text
    return pattern.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
