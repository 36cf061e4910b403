"""The refusals of the observation contract, one class for each condition.

ObservationError
  Refusal                       nothing was done, or it is said what may have been
    NotRecorded                 the audit record cannot be written, so nothing is done
    AuthorityChanged            what was allowed is not, or not any more
      NotAuthorized             no live registration, or nobody allowed it
      Revoked                   the registration or its grant ended
      Stopped                   a person stopped the browser
      CleanupRequired           an earlier browser could not be ended
      Paused                    a person paused the bot: it may only observe
      ResumedSince              it was paused and resumed since the observation
    PageGone                    the tab does not exist any more
    TabLimit                    the bot has as many tabs as it may have
    DocumentReplaced            the document nonce differs
    DialogOpen                  a native dialog waits for its answer
    StaleRef                    not a ref of this tab's latest observation
    MissingNode                 the stamped element is gone
    ChangedElement              it is there, but is no longer what was shown
    NotEditable, NotClickable   the action does not fit the element as it is now
    Covered                     another element would take the click
    LoadFailed                  the browser could not load the address
    TimedOut                    a named bound was reached
    DriverGone                  browser or driver process ended
  MalformedRead                 a driver's answer is not of the agreed form

Where several refusals fit, the first in this order is raised (docs/observation.md, section 5). `message` is the one
sentence for the model; it never holds page text that was not quoted and bounded.
"""


class ObservationError(Exception):
    """Base of all that can go wrong while a page is observed or acted on."""


class Refusal(ObservationError):
    """An observation or action that was not carried out.

    `kind` is the name of the outcome in rows and steps; `input_sent` says whether input may already have reached
    the page (None: it cannot have).
    """

    kind = "refused"

    def __init__(self, message: str, *, input_sent: bool | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.input_sent = input_sent


class AuthorityChanged(Refusal):
    """The authority changed since the observation; a new one is needed."""

    kind = "authority_changed"


class NotRecorded(Refusal):
    """The audit record cannot be written; a call that cannot be recorded is not made."""

    kind = "not_recorded"


class NotAuthorized(AuthorityChanged):
    """The session is not registered, or its use of the browser was not allowed."""

    kind = "not_authorized"


class Revoked(AuthorityChanged):
    """The session's registration or grant ended: access off, a switch, idleness, or a newer registration."""

    kind = "revoked"


class Stopped(AuthorityChanged):
    """A person stopped the browser."""

    kind = "stopped"


class CleanupRequired(AuthorityChanged):
    """An earlier browser of this profile could not be ended, so no other one may start."""

    kind = "cleanup_required"


class Paused(AuthorityChanged):
    """A person paused the bot; it may only observe."""

    kind = "paused"


class ResumedSince(AuthorityChanged):
    """The bot was paused and resumed since; what it saw before no longer counts."""

    kind = "resumed_since"


class PageGone(Refusal):
    """The tab was closed."""

    kind = "page_gone"


class TabLimit(Refusal):
    """The bot has as many tabs as it may have."""

    kind = "tab_limit"


class DocumentReplaced(Refusal):
    """The page has another document than the one that was observed."""

    kind = "document_replaced"


class DialogOpen(Refusal):
    """A native confirm, prompt or beforeunload dialog is open."""

    kind = "dialog_open"


class StaleRef(Refusal):
    """The ref is not one of this tab's latest observation."""

    kind = "stale_ref"


class MissingNode(Refusal):
    """The element that was stamped is no longer in the page."""

    kind = "missing_node"


class ChangedElement(Refusal):
    """The element's role, name or row is no longer what the model was shown."""

    kind = "changed_element"


class NotEditable(Refusal):
    """The element does not take text or choices as it is now."""

    kind = "not_editable"


class NotClickable(Refusal):
    """The element does not take clicks as it is now."""

    kind = "not_clickable"


class Covered(Refusal):
    """Another element lies over the point that would be clicked."""

    kind = "covered"


class LoadFailed(Refusal):
    """The browser could not load an address."""

    kind = "load_failed"


class TimedOut(Refusal):
    """A bounded wait ended without its event."""

    kind = "timed_out"


class DriverGone(Refusal):
    """The browser or the driver's process ended."""

    kind = "driver_gone"


class MalformedRead(ObservationError):
    """A read came back in a form that the contract does not know: a fault of the driver, not of the page."""
