"""Where the time of one call goes: named stages, in milliseconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stages:
    """Adds up the stages of one call. Stages do not overlap."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Count the block's wall time, also where it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, (time.perf_counter() - start) * 1000)

    def add(self, stage: str, ms: float) -> None:
        self.ms[stage] = self.ms.get(stage, 0.0) + ms
