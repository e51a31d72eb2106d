"""How the exception that left a call is written in its record: what comes after "raised" in every view."""

from __future__ import annotations

UNKNOWN = "an exception"
"""That one left is certain, but not which."""

_LONGEST = 2000


def text_of(error: BaseException | None) -> str:
    """Type and message; both are the program's own, so whoever asks must bear that asking fails."""
    return UNKNOWN if error is None else f"{type(error).__name__}: {error}"[:_LONGEST]
