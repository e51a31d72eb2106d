"""What the arguments of views may be: anything else is refused in one line that says what to write."""

from __future__ import annotations

from typing import Any, get_args


def one_of(name: str, value: Any, choices: Any) -> None:
    """Raise ValueError unless the value is one of a Literal's."""
    allowed = get_args(choices)
    if value not in allowed:
        raise ValueError(f"{name}={value!r}: write {' or '.join(map(repr, allowed))}")


def at_least(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless the value is a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}={value!r}: write a whole number, {least} or more")
