"""A program for libFuzzer: bytes as a connection brings them, through the decoder of frames and to the messages.

Coverage of our own code guides it; see test_fuzz.py, which runs it.
"""

import importlib
import sys
from typing import Any


def main() -> None:
    atheris: Any = importlib.import_module("atheris")  # only on systems for which it is built
    with atheris.instrument_imports(include=["harness.subagents"]):
        from harness.subagents.frames import FrameDecoder, FrameError
        from harness.subagents.messages import FROM_CHILD, TO_CHILD
    from pydantic import ValidationError

    def one(data: bytes) -> None:
        decoder, half = FrameDecoder(), len(data) // 2
        try:
            messages = [message for piece in (data[:half], data[half:]) for message in decoder.feed(piece)]
        except FrameError:
            return
        for message in messages:
            for read in (FROM_CHILD.validate_python, TO_CHILD.validate_python):
                try:
                    understood = read(message)
                except ValidationError:
                    continue
                assert read(understood.wire()) == understood

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
