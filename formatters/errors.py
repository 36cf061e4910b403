"""What can go wrong while an observation or a native text is formatted, one class for each condition.

FormatterError
  UnknownFormatter      no formatter has that name
  MissingRead           the observation lacks the read that the formatter needs
  NotNativeFormatter    the formatter does not take native snapshot text
  NoSuchPage            the document ends before that page
  BadPattern            what is to be found is empty, or no regular expression
  EncodingMissing       the token encoding's file is not there, or is not the right one

`message` is one sentence that names the input and what would do.
"""


class FormatterError(Exception):
    """Base of all that formatters raise."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnknownFormatter(FormatterError):
    """No formatter has that name."""


class MissingRead(FormatterError):
    """The observation lacks the read that the formatter needs."""


class NotNativeFormatter(FormatterError):
    """The formatter does not take native snapshot text."""


class NoSuchPage(FormatterError):
    """The document ends before that page."""


class BadPattern(FormatterError):
    """What is to be found is empty, or no regular expression."""


class EncodingMissing(FormatterError):
    """The token encoding's file is not there, or is not the right one."""
