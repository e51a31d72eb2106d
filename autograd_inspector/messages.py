"""What an exception says of itself: asking is the program's code, and may fail as any other."""

from __future__ import annotations

from autograd_inspector.interrupts import is_interrupt

UNKNOWN = "an exception"
"""That one was raised is certain, but not which."""

_LONGEST = 4000
_BEGINNING = 1000


def message_of(error: BaseException) -> str:
    """Its message; "" where that cannot be had."""
    try:
        return str.__str__(str(error))
    except Exception as failure:
        if is_interrupt(failure):
            raise
        return ""


def text_of(error: BaseException | None) -> str:
    """Type and message (an interrupt has none); of a long one (a worker's traceback) the beginning and the end."""
    if error is None:
        return UNKNOWN
    text = ": ".join(filter(None, (type(error).__name__, message_of(error))))
    return text if len(text) <= _LONGEST else f"{text[:_BEGINNING]} ... {text[_BEGINNING + 5 - _LONGEST :]}"
