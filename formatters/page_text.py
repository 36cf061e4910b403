"""The page text: what a reader sees of the main frame, without roles, states or structure."""

import re

from formatters.escape import plain_lines
from formatters.paging import Whole
from observe.limits import MAX_PAGE_TEXT_CHARS
from observe.model import PageText

_BLANKS = " \t\xa0"
_BLANK_RUN = re.compile("\n{3,}")


def format_page_text(page: PageText) -> Whole:
    """Visible text with tidied white space, LF as its only line break, with a bound of its own.

    Blanks at the end of a line go, several empty lines become one, and none stands at either end. The total is counted
    on that text; where the page script handed over only the beginning, it is the script's count of all of it, and the
    lines in the mark are those of the beginning.
    """
    lines = [line.rstrip(_BLANKS) for line in page.text.split("\n")]
    text = plain_lines(_BLANK_RUN.sub("\n\n", "\n".join(lines)).strip("\n"))
    total = page.chars_total if _was_cut(page) else None
    return Whole(text=text, limit=MAX_PAGE_TEXT_CHARS, label="page text", nested=False, chars_total=total)


def _was_cut(page: PageText) -> bool:
    """Whether the page script's count, in UTF-16 units, is more than it handed over."""
    return page.chars_total > len(page.text.encode("utf-16-le", "surrogatepass")) // 2
