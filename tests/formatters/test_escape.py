"""The escapes: what goes on one line, and what no line may hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formatters.escape import encodable, json_string, one_line, plain_lines

_ANY = st.text(alphabet=st.characters(exclude_categories=()), max_size=30)
_UNSAFE = {0x85, 0x2028, 0x2029, 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


@given(text=_ANY)
def test_json_string_reads_back_and_is_one_line(text: str) -> None:
    written = json_string(text)
    assert json.loads(written) == text
    assert len(written.splitlines()) == 1
    written.encode("utf-8")


@pytest.mark.parametrize("code", sorted(_UNSAFE))
def test_unsafe_characters(code: int) -> None:
    escaped = f"a\\u{code:04x}"
    assert json_string(f"a{chr(code)}") == f'"{escaped}"'
    assert one_line(f"a{chr(code)}") == escaped
    assert plain_lines(f"a{chr(code)}") == escaped


def test_json_string() -> None:
    assert (
        json_string('a"\\/\b\f\n\r\t\x00\x1f\x7fé😀\ud800') == '"a\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7fé😀\\ud800"'
    )


def test_one_line() -> None:
    assert one_line('a"\\\n\r\t\x00\x1b\x7fé😀\ud800') == 'a"\\\\n\\r\\t\\u0000\\u001b\x7fé😀\\ud800'


def test_plain_lines() -> None:
    assert plain_lines('a"\\\n\tb\r\x0b\x0c\x00é\udfff') == 'a"\\\n\tb\\r\\u000b\\f\\u0000é\\udfff'


def test_encodable() -> None:
    assert encodable("a\n\u2028\ud83d😀") == "a\n\u2028\\ud83d😀"
