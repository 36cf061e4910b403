"""An event loop for one command, and what a signal does to it."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; SIGINT and SIGTERM cancel the work, which then cleans up after itself.

    Raises:
        CancelledError: a signal ended it.
    """

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            # A terminal's Ctrl-C reaches the drivers' programs too: that they are gone is nothing to report.
            loop.set_exception_handler(lambda _loop, _context: None)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # on Windows, where asyncio.run itself answers Ctrl-C
                loop.add_signal_handler(number, interrupt)
        return await work

    return asyncio.run(main())
