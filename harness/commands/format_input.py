"""Native text from a file or stdin to its formatted form: what `axtrial format` does. Needs no browser."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, TextIO

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from formatters.format_native import FormattedText, format_native
from harness.errors import UsageError, quoted

MAX_INPUT_BYTES = 64 * 1024 * 1024
"""A native snapshot of 50,000 nodes has about 3 MB; more than this is another file by mistake."""


class Line(BaseModel):
    """One line of `--jsonl` input."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    id: str | int
    text: str


def format_file(name: str, formatter: str) -> FormattedText:
    """Format a file; `-` is stdin.

    Raises:
        UsageError: it cannot be read, is not UTF-8 text, or has more than MAX_INPUT_BYTES.
        FormatterError: the formatter is unknown, or does not take native text.
    """
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_INPUT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{quoted(name)} cannot be read: {error.strerror}") from error
    if len(data) > MAX_INPUT_BYTES:
        raise UsageError(f"{quoted(name)} has more than {MAX_INPUT_BYTES} bytes; that is no snapshot")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{quoted(name)} is not UTF-8 text (byte {error.start}); a native snapshot is") from error
    return format_native(text, formatter)


def format_lines(lines: BinaryIO, answers: TextIO, formatter: str) -> bool:
    """Answer each `{"id", "text"}` line with one line, in order; whether all could be formatted.

    Raises:
        FormatterError: the formatter is unknown, or does not take native text.
    """
    all_good = True
    format_native("", formatter)  # refuse a wrong formatter before the first line
    for number, line in enumerate(lines, 1):
        try:
            given = Line.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "line"
            answer: dict[str, object] = {"id": None, "error": f"line {number}: {quoted(where)}: {first['msg']}"}
            all_good = False
        else:
            answer = {"id": given.id, **asdict(format_native(given.text, formatter))}
        answers.write(orjson.dumps(answer).decode() + "\n")
        answers.flush()
    return all_good
