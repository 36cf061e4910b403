"""Answers the file chooser that a click opens, over CDP, before a window of it would show."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from harness.drivers.cdp import CdpConnection, Json
from observe.errors import NotEditable

FILE_CHOOSER_TIMEOUT_S = 2.0


async def answer_file_chooser(cdp: CdpConnection, path: Path, click: Callable[[], Awaitable[None]]) -> None:
    """Click, and give `path` to the file chooser that opens.

    Raises:
        NotEditable: none opened within FILE_CHOOSER_TIMEOUT_S.
        Whatever the click raises.
    """
    opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def on_opened(params: Json, _session: str | None) -> None:
        if not opened.done() and "backendNodeId" in params:
            opened.set_result(params["backendNodeId"])

    cdp.on("Page.fileChooserOpened", on_opened)
    await cdp.send("Page.setInterceptFileChooserDialog", {"enabled": True})
    try:
        await click()
        async with asyncio.timeout(FILE_CHOOSER_TIMEOUT_S):
            field = await opened
    except TimeoutError as error:
        raise NotEditable("The element opens no file chooser.", input_sent=True) from error
    finally:
        await cdp.send("Page.setInterceptFileChooserDialog", {"enabled": False})
    await cdp.send("DOM.setFileInputFiles", {"files": [str(path.resolve())], "backendNodeId": field})
