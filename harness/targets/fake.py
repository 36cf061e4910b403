"""The target `fake`: no browser at all, for the driver `fake`."""

import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from harness.config import Settings
from harness.targets.base import Endpoint


@asynccontextmanager
async def fake(_settings: Settings, *, profile: str | None = None) -> AsyncIterator[Endpoint]:
    """An endpoint that leads nowhere; documents in memory keep nothing, whatever the profile."""
    yield Endpoint(
        browser_ws="ws://127.0.0.1:0/devtools/browser/fake",
        http="http://127.0.0.1:0",
        profile=Path(),
        browser_version="fake",
        os=platform.system(),
        architecture=platform.machine(),
        pid=0,
    )
