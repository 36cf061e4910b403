"""A summary names what was done and where, never what was typed; it never fails, whatever the arguments are."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from harness.host.redact import MAX_SUMMARY_CHARS, cut, redact
from harness.tools.bot import KEYS
from harness.tools.params import TOOLS

REF = "eqemi8b_12"


@pytest.mark.parametrize(
    ("tool", "arguments", "summary"),
    [
        ("open", {"url": "https://example.com/a?b=c"}, "https://example.com/a?b=c"),
        ("open", {"url": "https://anna:secret@example.com/@"}, "https://…@example.com/@"),
        ("open", {"url": "https:\\\\anna:secret@example.com/"}, "no address"),
        ("open", {"url": "my password is hunter2"}, "no address"),
        ("tabs", {"action": "close", "target_id": "hunter2"}, "close"),
        ("open", {"url": "https://example.com/" + "x" * 200}, "https://example.com/" + "x" * 139 + "…"),
        ("open", {"url": 5}, ""),
        ("open", {}, ""),
        ("observe", {}, ""),
        ("observe", {"page": 2}, "page 2"),
        ("find", {"text": "hunter2"}, "text length 7"),
        ("find", {"regex": "hunter[0-9]"}, "regex length 11"),
        ("screenshot", {}, ""),
        ("click", {"ref": REF}, REF),
        ("click", {"x": 10, "y": 20.5}, "x 10, y 20.5"),
        ("click", {"ref": "my password"}, "ref of no known form"),
        ("click", {"x": True, "y": 10**400}, ""),
        ("type", {"ref": REF, "text": "a😀"}, f"{REF}, text length 2"),
        ("type", {"ref": REF, "text": ["a"]}, REF),
        ("select_option", {"ref": REF, "option": "Blue"}, f"{REF}, option length 4"),
        ("select_option", {"ref": REF, "option": ["Blue", "Red"]}, f"{REF}, 2 options, length 7"),
        ("press_key", {"key": "ArrowDown"}, "ArrowDown"),
        ("press_key", {"key": "x"}, "key"),
        ("press_key", {"key": "hunter2"}, "key"),
        ("scroll", {"direction": "down", "amount": 300}, "down, 300 px"),
        ("scroll", {"direction": "up"}, "up, default"),
        ("scroll", {"direction": "my text", "amount": "my text"}, ""),
        ("wait", {"ms": 10_000}, "10000 ms"),
        ("wait", {}, "default"),
        ("dialog", {"accept": True, "text": "Anna"}, "accept, text length 4"),
        ("dialog", {"accept": False}, "dismiss"),
        ("tabs", {"action": "list"}, "list"),
        ("tabs", {"action": "select", "target_id": "AB12" * 8}, f"select, {'AB12' * 8}"),
        ("tabs", {"action": "open", "url": "http://a.test/"}, "open, http://a.test/"),
        ("tabs", {"action": "other", "targetId": "my text"}, ""),
        ("takeover", {"action": "await", "timeout_ms": 5}, "await, 5 ms"),
        ("upload", {"path": 5}, ""),
        ("upload", {"path": "/none/cv.pdf"}, "cv.pdf, size not known"),
        ("upload", {"path": "\0"}, "\0, size not known"),
        ("upload", {"path": "\ud800"}, "\\ud800, size not known"),
        ("no tool", {"text": "my text"}, ""),
    ],
)
def test_summary(tool: str, arguments: dict[str, JsonValue], summary: str) -> None:
    assert redact(tool, arguments) == summary


def test_upload_has_base_name_and_size(tmp_path: Path) -> None:
    file = tmp_path / "cv.pdf"
    file.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(file)

    assert redact("upload", {"path": str(file), "ref": REF}) == f"cv.pdf, 5 bytes, {REF}"
    assert redact("upload", {"path": str(tmp_path / "link")}) == "link, size not known"


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_named_key_is_recorded(key: str) -> None:
    assert redact("press_key", {"key": key}) == key


@pytest.mark.parametrize(
    ("text", "bound", "short"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 3, ""), ("😀😀", 1, "…"), ("\ud800", 10, "\\ud800")],
)
def test_cut(text: str, bound: int, short: str) -> None:
    assert cut(text, bound) == short


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=300)
NAMES = ["ref", "text", "option", "key", "url", "path", "ms", "amount", "direction", "accept", "action", "x", "y"]


@given(
    tool=st.sampled_from([*TOOLS, "tabs", "takeover", "other"]),
    arguments=st.dictionaries(st.sampled_from(NAMES), SCALARS | st.lists(SCALARS, max_size=3)),
)
def test_any_arguments_give_a_bounded_summary(tool: str, arguments: dict[str, JsonValue]) -> None:
    summary = redact(tool, arguments)

    summary.encode()
    assert len(summary) <= MAX_SUMMARY_CHARS


@pytest.mark.parametrize("tool", [*TOOLS, "tabs", "takeover", "other"])
def test_typed_text_is_in_no_summary(tool: str) -> None:
    typed = "Xyzzy9"
    names = [name for name in NAMES if name not in ("url", "path")]

    assert typed not in redact(tool, dict.fromkeys(names, typed))
    assert typed not in redact(tool, {name: [typed] for name in names})
