"""Every number that bounds an observation, with its reason. Source: docs/observation.md."""

MAX_REFS = 250
"""Action refs in one observation: what a model can choose from, and what bounds the DOM answer."""

MAX_VALUE_CHARS = 256
"""Code points of a field's value: enough to recognise it, too little to flood the text."""

MAX_NAME_CHARS = 80
"""Code points of an accessible name in a ref line."""

MAX_ROW_CHARS = 200
"""Code points of the row text that is part of a ref's identity."""

MAX_AX_CHARS = 12_000
"""Code points of AX text that a model is shown (ADR-0124)."""

MAX_PAGE_TEXT_CHARS = 6_000
"""Code points of visible text in the `page-text` representation."""

MAX_CONTEXT_CHARS = 2_000
"""Code points of the lines around a line, told again where a text goes on or a line was found."""

MAX_CONTEXT_LINE_CHARS = 300
"""Code points of one of them: enough to know it again."""

MAX_FOUND_LINES = 50
"""Lines that one search shows: more of them call for a narrower search."""

MAX_FOUND_LINE_CHARS = 1_000
"""Code points of a line that was found; of a longer one, the part with the match."""

MAX_SEARCHED_ELEMENTS = 20_000
"""Elements that a search for refs goes through: what one answer of the page script holds."""

MAX_URL_CHARS = 2_048
"""Code points of the address in a rendering."""

MAX_TITLE_CHARS = 256
"""Code points of the title in a rendering."""

MAX_DIALOG_CHARS = 256
"""Code points of a native dialog's message that an answer quotes."""

NONCE_HEX_CHARS = 32
"""Hex digits of a nonce: 128 random bits, so that no page can guess one."""

TAG_CHARS = 6
"""Base-36 characters of an observation's tag: short, as it stands in every ref."""

MAX_AROUND = 16
"""Elements around one node of the accessibility tree that are no nodes themselves: more would cost more than linear."""

MAX_FRAMES = 50
"""Child frames that are joined into one AX snapshot; those beyond are marked as not read."""

MAX_TEXT_READ_CHARS = 2_000_000
"""UTF-16 units of visible text that the page script hands over; the rest is only counted."""

MAX_MOVING_FRAMES = 30
"""Frames that a click waits for a moving element to stand still: half a second."""
