"""Formats native snapshot text alone, without an observation: what `axtrial format` answers."""

from dataclasses import dataclass

from formatters.bound import line_count
from formatters.catalog import ax_body, native_rule
from formatters.escape import encodable


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedText:
    """The fields of the JSON of `axtrial format`, in their order (docs/cli.md). Characters are code points."""

    text: str
    verbatim: bool
    truncated: bool
    chars_shown: int
    chars_total: int
    lines_shown: int
    lines_total: int
    chars_in: int
    rules: dict[str, int]


def format_native(text: str, formatter: str) -> FormattedText:
    """Format native text with `conservative` or `verbatim`, within the bound of AX text.

    Raises: UnknownFormatter; NotNativeFormatter where the formatter works on another read.
    """
    compacted = native_rule(formatter)(encodable(text))
    body = ax_body(compacted)
    bounded = body.whole.first()
    return FormattedText(
        text=bounded.text,
        verbatim=body.verbatim,
        truncated=bounded.truncated,
        chars_shown=bounded.chars_shown,
        chars_total=len(compacted.text),
        lines_shown=bounded.lines_shown,
        lines_total=line_count(compacted.text),
        chars_in=len(text),
        rules=body.rules,
    )
