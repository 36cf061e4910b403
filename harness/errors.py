"""The errors of the harness, one class for each condition; callers branch on the type, never on the text.

AxtrialError                  one sentence for the user
  UsageError                  the command or its input is wrong: exit code 2
    SpecError                 a trial's spec names something that does not exist, or has a wrong key
    ChromeSettingWrong        the setting `chrome` does not point to a Chrome that runs
    ProfileNameWrong          the name of a kept profile is not of the agreed form (harness/targets/profile.py)
    SessionTaken, ProfileFixed    a session is another bot's, a bot has another profile (harness/host/authority.py)
    OwnerWrong                a text cannot be an owner's key (harness/host/owners.py)
    AccessUnreadable, AccessRefused    the file of Browser Access, or a flag for it, is wrong (harness/host/access.py)
  SetupError                  something that is missing could not be brought
  TargetError                 where Chrome runs: outcome `target_failed`
    ChromeNotFound            no Chrome anywhere; says what was tried
    ChromeDied                it ended by itself, at its start or later
    PortTaken                 another program listens on the wanted debugging port
    NoDisplay                 a window was asked for, and there is no display (harness/targets/display.py)
    ProfileInUse              another host or a Chrome has the kept profile (harness/targets/profile.py)
    TargetTimedOut            it did not become ready within a named bound
  DriverError                 how Chrome is spoken to: outcome `driver_failed`
    NativeUnusable            the pinned native driver cannot be used here, whatever the trial
      NativeMissing           it has not been fetched; says the command that fetches it
        NativeInTheWay        a folder stands in the binary's place (harness/drivers/native_pin.py)
      NativeMismatch          it is not the pinned one; names what it is and what the pin says
      NativeUnsupported       there is none for this platform
  PageNotObserved             one page could not be loaded or observed
  ProcessNotStarted           the system refused to start a program
  AuditError                  a call cannot be recorded, and is refused (harness/host/audit.py)
  AccessError                 a flag of Browser Access cannot be written (harness/host/access.py)
  LinkRefused                 a link for a takeover does not work, or not any more (harness/host/takeover.py)
  DisposalFailed              something of a browser may still run (harness/host/runtime.py)
  OwnerError                  a call of an owner on its page was not carried out
    OperationFailed           the page did not do it; the page stays
    OperationTimedOut         it took longer than its bound
    OwnerPageGone             the page was closed meanwhile, or crashed
    GateOff, PageReaped, ContextClosed    access is off; the page or the context ended (harness/host/pages.py)
  RunStopped                  the run cannot go on (disk full, folder gone); what it has is kept and can be resumed
"""

import json

EXIT_FAILED = 1
"""It ran, and something failed or fell short."""

EXIT_USAGE = 2
"""Bad usage or input."""

EXIT_INTERRUPTED = 130
"""Interrupted, and can be resumed."""

MAX_QUOTED_CHARS = 200
"""Characters of foreign text inside one of our sentences: enough to recognise it."""


class AxtrialError(Exception):
    """Base of the errors that a user sees as one sentence, and of the exit code that goes with it."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UsageError(AxtrialError):
    """Wrong command, option, setting or input file."""

    exit_code = EXIT_USAGE


class SpecError(UsageError):
    """The trial's spec names an unknown arm, task or formatter, or has a wrong key."""


class ChromeSettingWrong(UsageError):
    """The setting `chrome` is not the path of a Chrome or Chromium that runs."""


class SetupError(AxtrialError):
    """A part that is missing could not be brought."""


class TargetError(AxtrialError):
    """A fault of the target."""


class ChromeNotFound(TargetError):
    """No Chrome was found; the sentence lists what was tried."""


class ChromeDied(TargetError):
    """Chrome ended by itself."""


class PortTaken(TargetError):
    """The wanted debugging port is in use."""


class TargetTimedOut(TargetError):
    """The target did not become ready in time."""


class DriverError(AxtrialError):
    """A fault of the driver."""


class NativeUnusable(DriverError):
    """The pinned native driver cannot be used on this machine."""


class NativeMissing(NativeUnusable):
    """The native driver's binary is not in the cache; the sentence names the command that brings it."""


class NativeMismatch(NativeUnusable):
    """The native driver is not the pinned one; the sentence names both numbers."""


class NativeUnsupported(NativeUnusable):
    """The native driver's package holds no binary for this platform."""


class PageNotObserved(AxtrialError):
    """A page could not be loaded or observed; the sentence names it and the refusal."""


class ProcessNotStarted(AxtrialError):
    """The system refused to start a program: missing, not executable, or out of resources."""


class OwnerError(AxtrialError):
    """A call of an owner on its page was not carried out; page text in the sentence is quoted and bounded."""


class OperationFailed(OwnerError):
    """The page did not do what was asked."""


class OperationTimedOut(OwnerError):
    """The page did not do it within the bound."""


class OwnerPageGone(OwnerError):
    """The page was closed meanwhile, or crashed."""


class RunStopped(AxtrialError):
    """The run ended early; its rows so far are kept."""


def quoted(text: str, bound: int = MAX_QUOTED_CHARS) -> str:
    """Foreign text as one printable ASCII string in quotes, at most `bound` characters of it, then `...`."""
    return json.dumps(text[:bound]) + ("..." if len(text) > bound else "")
