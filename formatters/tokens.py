"""Token estimates. Never called usage: what a model counted, only its route can say.

Reads no environment and fetches nothing: the encoding's file must stand in a folder that the caller has prepared.
"""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from formatters.errors import EncodingMissing

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "o200k_base"

SHA256 = {DEFAULT_ENCODING: "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"}
"""Encodings that can be loaded, with the digests that tiktoken itself asks of their files."""

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
"""Never fetched: tiktoken names its cached file by the SHA-1 of this address."""


def estimate(text: str, encoding: "Encoding") -> int:
    """How many tokens the text has in that encoding. Page text that spells a special token is plain text."""
    return len(encoding.encode(text, disallowed_special=()))


def encoding_file(folder: Path, name: str = DEFAULT_ENCODING) -> Path:
    """Where tiktoken looks for an encoding's file in a cache folder: it is named by the digest of its address."""
    return folder / hashlib.sha1(_ADDRESS.format(name=name).encode(), usedforsecurity=False).hexdigest()


def load_encoding(name: str = DEFAULT_ENCODING, *, folder: Path) -> "Encoding":
    """Load an encoding from a cache folder, which must be the one that TIKTOKEN_CACHE_DIR names.

    The file is checked here first, as tiktoken would fetch one that is missing or damaged.

    Raises: EncodingMissing where the encoding is unknown, or its file is not there or not the right one.
    """
    digest = SHA256.get(name)
    if digest is None:
        raise EncodingMissing(f"no encoding is called {name!r}; there is {', '.join(SHA256)}")
    try:
        content = encoding_file(folder, name).read_bytes()
    except OSError as error:
        raise EncodingMissing(f"the file of the encoding {name!r} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise EncodingMissing(f"the file of the encoding {name!r} is damaged; remove it and run the setup again")
    import tiktoken

    return tiktoken.get_encoding(name)
