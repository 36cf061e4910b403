"""What the audit record may say of a call's arguments: never typed text, never page content.

`redact` takes the arguments as the bot gave them, checked or not, and never raises: what has not the expected form is
left out, since nobody knows what stands in it.
"""

import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import JsonValue

from formatters.escape import encodable
from observe import limits

CUT_MARK = "…"
"""The last character of a text that was longer; it counts within the bound."""

MAX_SUMMARY_CHARS = 200
MAX_URL_CHARS = 160
"""Code points of an address: host and path are in it; long ones are mostly query."""

MAX_FILE_NAME_CHARS = 120
"""Leaves room for size and ref behind the name."""

_REF = re.compile(rf"e[a-z0-9]{{{limits.TAG_CHARS}}}_[1-9][0-9]{{0,3}}", re.ASCII)
_TAB_ID = re.compile(r"[0-9A-F]{32}|FAKE[0-9]{1,6}", re.ASCII)
_ADDRESS = re.compile(r"https?://[^\s]+", re.ASCII)
_USER_PART = re.compile(r"^([a-z][a-z0-9+.-]*:[/\\]*)[^/\\?#]*@", re.ASCII | re.IGNORECASE)
"""Name and password before an address's host."""

_NAMED_KEY = re.compile(
    "Enter|Escape|Tab|Backspace|Delete|Space|Home|End|Page(?:Up|Down)|Arrow(?:Up|Down|Left|Right)|F[1-9]|F1[0-2]"
)
_TAB_ACTIONS = ("list", "open", "select", "close")
_TAKEOVER_ACTIONS = ("request", "await", "status")

Arguments = Mapping[str, JsonValue]


def cut(text: str, bound: int) -> str:
    """At most `bound` code points of the text, the last one a mark where it was longer; always encodable in UTF-8."""
    text = encodable(text[: bound + 1])
    return text if len(text) <= bound else text[: bound - 1] + CUT_MARK


def redact(tool: str, arguments: Arguments) -> str:
    """One call's arguments in at most 200 code points.

    Typed text and options appear as their length in code points; of a key only a name does, as a single character may
    be typed text; of an upload the file's base name and its size in bytes (the path is looked up as it is given); of
    an address the first 160 code points, without user name and password. An unknown tool has an empty summary.
    """
    summary = _SUMMARIES.get(tool)
    return "" if summary is None else cut(summary(arguments), MAX_SUMMARY_CHARS)


def _open(given: Arguments) -> str:
    return _url(given.get("url"))


def _observe(given: Arguments) -> str:
    number = _number(given.get("page"))
    return "" if number is None else f"page {number:.15g}"


def _find(given: Arguments) -> str:
    return _joined(_length("text", given.get("text")), _length("regex", given.get("regex")))


def _click(given: Arguments) -> str:
    x, y = _number(given.get("x")), _number(given.get("y"))
    at = "" if x is None or y is None else f"x {x:g}, y {y:g}"
    return _joined(_ref(given), at)


def _type(given: Arguments) -> str:
    return _joined(_ref(given), _length("text", given.get("text")))


def _select_option(given: Arguments) -> str:
    option = given.get("option")
    if isinstance(option, list):
        chars = sum(len(label) for label in option if isinstance(label, str))
        return _joined(_ref(given), f"{len(option)} options", f"length {chars}")
    return _joined(_ref(given), _length("option", option))


def _press_key(given: Arguments) -> str:
    key = given.get("key")
    return key if isinstance(key, str) and _NAMED_KEY.fullmatch(key) else "key"


def _scroll(given: Arguments) -> str:
    return _joined(_one_of(given, "direction", ("up", "down")), _amount(given, "amount", "px"))


def _upload(given: Arguments) -> str:
    path = given.get("path")
    if not isinstance(path, str):
        return _ref(given)
    size = _file_bytes(path)
    told = "size not known" if size is None else f"{size} bytes"
    return _joined(cut(Path(path).name, MAX_FILE_NAME_CHARS), told, _ref(given))


def _tabs(given: Arguments) -> str:
    return _joined(_one_of(given, "action", _TAB_ACTIONS), _tab_id(given), _url(given.get("url")))


def _wait(given: Arguments) -> str:
    return _amount(given, "ms", "ms")


def _takeover(given: Arguments) -> str:
    return _joined(_one_of(given, "action", _TAKEOVER_ACTIONS), _amount(given, "timeout_ms", "ms"))


def _dialog(given: Arguments) -> str:
    accept = given.get("accept")
    said = "" if not isinstance(accept, bool) else "accept" if accept else "dismiss"
    return _joined(said, _length("text", given.get("text")))


_SUMMARIES: Mapping[str, Callable[[Arguments], str]] = {
    "open": _open,
    "observe": _observe,
    "find": _find,
    "click": _click,
    "type": _type,
    "select_option": _select_option,
    "press_key": _press_key,
    "scroll": _scroll,
    "upload": _upload,
    "tabs": _tabs,
    "wait": _wait,
    "takeover": _takeover,
    "dialog": _dialog,
}


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _ref(given: Arguments) -> str:
    """The ref, if it has a ref's form: any other text may be what the bot wanted to type."""
    ref = given.get("ref")
    if ref is None:
        return ""
    return ref if isinstance(ref, str) and _REF.fullmatch(ref) else "ref of no known form"


def _tab_id(given: Arguments) -> str:
    for name in ("target_id", "targetId"):
        value = given.get(name)
        if isinstance(value, str) and _TAB_ID.fullmatch(value):
            return value
    return ""


def _url(value: JsonValue) -> str:
    if not isinstance(value, str):
        return ""
    if _ADDRESS.fullmatch(value) is None:
        return "no address"
    return cut(_USER_PART.sub(rf"\1{CUT_MARK}@", value), MAX_URL_CHARS)


def _length(what: str, value: JsonValue) -> str:
    return f"{what} length {len(value)}" if isinstance(value, str) else ""


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None  # also false for NaN


def _amount(given: Arguments, name: str, unit: str) -> str:
    """A number with its unit; `default` where the bot named none."""
    if name not in given:
        return "default"
    number = _number(given[name])
    return "" if number is None else f"{number:.15g} {unit}"


def _one_of(given: Arguments, name: str, words: tuple[str, ...]) -> str:
    value = given.get(name)
    return value if isinstance(value, str) and value in words else ""


def _file_bytes(path: str) -> int | None:
    try:
        found = Path(path).lstat()
    except (OSError, ValueError):  # not there, or no path at all
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
