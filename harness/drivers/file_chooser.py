"""Answers the file chooser that a click opens, over CDP, before a window of it would show."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.drivers.cdp import CdpClosed, CdpConnection, CdpError, CdpTimeout, Json
from harness.drivers.dialogs import OpenDialogs
from observe.errors import DialogOpen, NotEditable

FILE_CHOOSER_TIMEOUT_S = 2.0

RESTORE_S = 1.0
"""Seconds for Chrome to take its own choosers back. Where a dialog holds the page, it does so after the answer."""

NO_CHOOSER = "The element opens no file chooser."
OTHER_DIALOG = "The element opened a native {kind} dialog and no file chooser; answer it with the tool dialog."


async def answer_file_chooser(
    cdp: CdpConnection, dialogs: OpenDialogs, path: Path, click: Callable[[], Awaitable[None]]
) -> None:
    """Click, and give `path` to the file chooser that opens.

    Raises:
        DialogOpen: a native dialog opened instead.
        NotEditable: neither opened within FILE_CHOOSER_TIMEOUT_S.
        Whatever the click raises.
    """
    chooser: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def on_opened(params: Json, _session: str | None) -> None:
        if not chooser.done() and "backendNodeId" in params:
            chooser.set_result(params["backendNodeId"])

    with cdp.heard("Page.fileChooserOpened", on_opened):
        await cdp.send("Page.setInterceptFileChooserDialog", {"enabled": True})
        try:
            await click()
            field = await _chosen(chooser, dialogs)
        finally:
            chooser.cancel()
            await _restore(cdp)
    with suppress(DialogOpen):  # then the file was taken, and its event opened the dialog
        await cdp.send("DOM.setFileInputFiles", {"files": [str(path.resolve())], "backendNodeId": field})


async def _chosen(chooser: asyncio.Future[int], dialogs: OpenDialogs) -> int:
    other = asyncio.create_task(dialogs.opened.wait())
    try:
        ends: set[asyncio.Future[Any]] = {chooser, other}
        await asyncio.wait(ends, timeout=FILE_CHOOSER_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        other.cancel()
    if chooser.done():
        return chooser.result()
    if (dialog := dialogs.waiting) is not None:
        raise DialogOpen(OTHER_DIALOG.format(kind=dialog.kind), input_sent=True)
    raise NotEditable(NO_CHOOSER, input_sent=True)


async def _restore(cdp: CdpConnection) -> None:
    """Sent at once in any case. What fails here must not hide how the click ended."""
    with suppress(CdpClosed, CdpError, CdpTimeout, DialogOpen):
        await cdp.send("Page.setInterceptFileChooserDialog", {"enabled": False}, timeout_s=RESTORE_S)
