"""Why an address could not be loaded, in Chrome's own code and nobody else's words."""

MAX_CODE_CHARS = 60


def load_failure(text: str) -> str:
    """One sentence with the net::ERR code that a foreign error text names, and nothing else of that text."""
    code = next((word for word in text.split() if word.startswith("net::ERR_") and word.isascii()), None)
    return f"The page could not be loaded ({'no reason given' if code is None else code[:MAX_CODE_CHARS]})."
