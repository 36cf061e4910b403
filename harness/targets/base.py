"""What a target hands over: the address of a Chrome that is ready, and the facts that a trial's row records."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.config import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A running Chrome.

    `browser_ws` is its whole debugging address (`ws://127.0.0.1:PORT/devtools/browser/UUID`) and `http` the address
    before the path (`http://127.0.0.1:PORT`); who knows them can do everything in this browser. `profile` is the
    profile folder as this machine sees it. `image` is the container image's digest; None: not in a container.
    """

    browser_ws: str
    http: str
    profile: Path
    browser_version: str
    os: str
    architecture: str
    pid: int
    image: str | None = None


class Target(Protocol):
    """Where Chrome runs. Entering gives a fresh Chrome; leaving ends it, with its folders, on every path.

    Raises on entering:
        TargetError: one of its kinds, see harness/errors.py.
    """

    def __call__(self, settings: Settings, *, profile: str | None = None) -> AbstractAsyncContextManager[Endpoint]:
        """A Chrome of its own for each call. `profile` names one that is kept; None: a new one, which is removed."""
        ...
