"""A tab's native dialogs: alerts are accepted at once and told later, the others wait for their answer."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from harness.drivers.base import Dialog
from observe.errors import DialogOpen
from observe.limits import MAX_DIALOG_CHARS

OPEN = "A native {kind} dialog is open; answer it with the tool dialog."

MAX_ALERTS = 1_000
"""A page that nobody looks at can open them without end; with 256 characters each they take some 300 kB."""

Answer = Callable[[bool, str | None], Awaitable[None]]
"""Sends a dialog's answer to the browser: accept or dismiss, and the text of a prompt."""


class OpenDialogs:
    """What dialogs the tab has shown, `shown` of them. `opened` is set while one waits, `closed` while none does."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.closed = asyncio.Event()
        self.closed.set()
        self.shown = 0
        self._waiting: tuple[Dialog, Answer] | None = None
        self._alerts: list[Dialog] = []

    @property
    def waiting(self) -> Dialog | None:
        """The dialog that waits for its answer."""
        return None if self._waiting is None else self._waiting[0]

    def accepted(self, alert: Dialog) -> None:
        """Keep an alert that is being accepted, to be told; beyond MAX_ALERTS it is forgotten."""
        if len(self._alerts) < MAX_ALERTS:
            self._alerts.append(replace(alert, message=alert.message[:MAX_DIALOG_CHARS]))
        self.shown += 1

    def wait(self, dialog: Dialog, answer: Answer) -> DialogOpen:
        """Keep a dialog that waits; the refusal with which everything else ends meanwhile."""
        self._waiting = (dialog, answer)
        self.shown += 1
        self.closed.clear()
        self.opened.set()
        return DialogOpen(OPEN.format(kind=dialog.kind))

    def take(self) -> Answer | None:
        """The waiting dialog's answer function; the dialog counts as answered from now on."""
        if self._waiting is None:
            return None
        _, answer = self._waiting
        self._waiting = None
        self.opened.clear()
        self.closed.set()
        return answer

    def take_alerts(self) -> tuple[Dialog, ...]:
        """The alerts since the last call, oldest first."""
        taken, self._alerts = tuple(self._alerts), []
        return taken

    def refuse(self) -> None:
        """
        Raises:
            DialogOpen: a dialog waits for its answer.
        """
        if self._waiting is not None:
            raise DialogOpen(OPEN.format(kind=self._waiting[0].kind))
