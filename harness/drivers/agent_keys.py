"""Keys of a US keyboard that the native child sends without their codes: the host sends these itself."""

from harness.drivers.cdp import Json

_DIGITS = ")!@#$%^&*("
"""What the keys 0 to 9 type with Shift."""

_F1 = 112
"""The key code of F1; those of the others follow it."""


def key_events(key: str) -> tuple[Json, Json] | None:
    """The parameters of Input.dispatchKeyEvent for a key's press and release; None: the child sends the key rightly."""
    if key[:1] == "F" and key[1:].isdecimal():
        own = {"key": key, "code": key, "windowsVirtualKeyCode": _F1 + int(key[1:]) - 1}
        return {"type": "rawKeyDown", **own}, {"type": "keyUp", **own}
    if len(key) == 1 and (digit := _DIGITS.find(key)) >= 0:
        own = {"key": key, "code": f"Digit{digit}", "windowsVirtualKeyCode": ord("0") + digit}
        return {"type": "keyDown", "text": key, "unmodifiedText": key, **own}, {"type": "keyUp", **own}
    return None
