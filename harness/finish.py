"""Cleaning up that is not interrupted."""

import asyncio
from collections.abc import Coroutine


async def finish(cleanup: Coroutine[object, object, None]) -> None:
    """Run `cleanup` to its end even if this task is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(cleanup)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
