"""Why an address could not be loaded, in Chrome's own code and our words, and nobody else's."""

import re

from observe.errors import LoadFailed

MAX_CODE_CHARS = 60

ABORTED = "net::ERR_ABORTED"
"""Chrome's code where an address gives no document: a download, an answer without content, a load that was stopped."""

_DOWNLOAD = "Download is starting"
"""What Playwright says in place of that code."""

_INTERRUPTED = "is interrupted by another navigation to "
"""What Playwright says where another document came first."""


def load_failure(text: str) -> str:
    """One sentence with the net::ERR code that a foreign error text names, and nothing else of that text."""
    code = next((word for word in text.split() if word.startswith("net::ERR_") and word.isascii()), None)
    if code is None and text.partition("\n")[0].endswith(_DOWNLOAD):
        code = ABORTED
    if code == ABORTED:
        return f"The address gave no page to show, as a download does; the page of before stays ({ABORTED})."
    return f"The page could not be loaded ({'no reason given' if code is None else code[:MAX_CODE_CHARS]})."


def broken_off(text: str) -> bool:
    """Whether a foreign error says that another load took the place of this one; an answer without content says so,
    too, but no download does.
    """
    return ABORTED in text or _INTERRUPTED in text


def refused_by_network(text: str) -> bool:
    """Whether a foreign error says that Chrome shows a page of its own in place of the address."""
    return "net::ERR_" in text and ABORTED not in text


_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*://|about:|data:|blob:", re.IGNORECASE)

RELATIVE = "The address has no scheme (as http:// is one); nothing was loaded."


def refuse_relative(url: str) -> None:
    """What an address without a scheme means is not guessed: browsers and drivers guess differently.

    Raises:
        LoadFailed: `url` has none.
    """
    if _ABSOLUTE.match(url) is None:
        raise LoadFailed(RELATIVE)
