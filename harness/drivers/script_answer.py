"""The page script's answer to an action: go on, or one of the refusals."""

from typing import Any

from observe.errors import (
    ChangedElement,
    Covered,
    MalformedRead,
    MissingNode,
    NotClickable,
    NotEditable,
    StaleRef,
)

STALE = "This ref is not of the latest observation of this tab; observe again."
MISSING = "The element is no longer in the page; observe again."
WITHHELD = " The text was kept from the page."
ASTRAY = " Where the text went is not known."
CHANGED = "The element's role, name or row is no longer what was shown; observe again."


def check(answer: Any) -> dict[str, Any]:
    """The answer itself where its status is ok.

    Raises:
        StaleRef, MissingNode, ChangedElement, NotEditable, NotClickable, Covered: as the script found.
        MalformedRead: the status is not a known one.
    """
    if not isinstance(answer, dict):
        raise MalformedRead("action answer")
    match answer.get("status"):
        case "ok":
            return answer
        case "stale_ref":
            raise StaleRef(STALE)
        case "missing_node":
            raise MissingNode(MISSING)
        case "changed_element":
            raise ChangedElement(CHANGED)
        case "not_editable":
            raise NotEditable(f"The element cannot be edited: {answer['why']}.")
        case "no_file_field":
            raise NotEditable("The element is no file field.")
        case "not_clickable":
            raise NotClickable(f"The element cannot be clicked: {answer['why']}.")
        case "covered":
            raise Covered(f"The element is covered by another one ({answer['by']}); nothing was clicked.")
        case _:
            raise MalformedRead("action status")


def check_typed(answer: Any) -> str | None:
    """What a field holds, in an answer on the text that was sent to it; None where it is secret or cannot be told.

    Raises:
        NotEditable: the field did not have the focus, or could not be edited, when the text came.
        MalformedRead: as `check`.
    """
    try:
        value = check(answer).get("value")
    except NotEditable as refusal:
        what = WITHHELD if answer.get("heard") else ASTRAY
        raise NotEditable(refusal.message + what, input_sent=True) from refusal
    return value if isinstance(value, str) else None


def check_point(x: float, y: float, size: Any) -> None:
    """
    Raises:
        NotClickable: the point lies outside of a window of that size, width and height in CSS px.
        MalformedRead: the size is none.
    """
    match size:
        case [int() | float() as width, int() | float() as height]:
            if not (0 <= x < width and 0 <= y < height):
                raise NotClickable(f"The point lies outside of the window, which has {width:g} by {height:g} px.")
        case _:
            raise MalformedRead("window size")
