"""Frames between a parent and its children: 4 bytes of length, big-endian, then so many bytes of UTF-8 JSON."""

from collections.abc import Iterator, Mapping

import orjson
from pydantic import JsonValue

from harness.errors import AxtrialError

PREFIX_BYTES = 4

MAX_BODY_BYTES = 262_144
"""Bytes of one body: several times what a model reads at once, and little enough for a host to hold of each child."""

Object = dict[str, JsonValue]


class FrameError(AxtrialError):
    """Bytes that are no frame: length out of bounds, no JSON, or no JSON object. The connection cannot go on."""


class FrameTooLarge(AxtrialError):
    """A message that does not fit into a frame; nothing was sent."""


class FrameUnwritable(AxtrialError):
    """A message that JSON in UTF-8 cannot hold: a lone surrogate, a number beyond 64 bits; nothing was sent."""


def encode(message: Mapping[str, JsonValue]) -> bytes:
    """One frame.

    Raises:
        FrameTooLarge: the sentence has both sizes.
        FrameUnwritable: it cannot be written.
    """
    try:
        body = orjson.dumps(message)
    except TypeError as error:  # orjson's own error is one
        raise FrameUnwritable("the message cannot be written as JSON in UTF-8") from error
    if len(body) > MAX_BODY_BYTES:
        raise FrameTooLarge(f"it has {len(body)} bytes, and at most {MAX_BODY_BYTES} fit")
    return len(body).to_bytes(PREFIX_BYTES, "big") + body


class FrameDecoder:
    """Cuts a stream of bytes into messages. Holds one frame at most."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def begun(self) -> bool:
        """Whether part of a frame has come, and its rest has not."""
        return bool(self._held)

    def feed(self, data: bytes) -> Iterator[Object]:
        """The messages that are whole with these bytes; run it to its end before the next call.

        Raises:
            FrameError: the stream is broken; the decoder must not be used any more.
        """
        self._held += data
        while len(self._held) >= PREFIX_BYTES:
            size = int.from_bytes(self._held[:PREFIX_BYTES], "big")
            if not 1 <= size <= MAX_BODY_BYTES:
                raise FrameError(f"a frame of {size} bytes; 1 to {MAX_BODY_BYTES} are allowed")
            end = PREFIX_BYTES + size
            if len(self._held) < end:
                return
            body = bytes(self._held[PREFIX_BYTES:end])
            del self._held[:end]
            yield _object(body)


def _object(body: bytes) -> Object:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise FrameError("a frame that is not JSON") from error
    if not isinstance(message, dict):
        raise FrameError("a frame that is not a JSON object")
    return message
