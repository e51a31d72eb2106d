"""Functions and statements as they stand in a sentence."""

from __future__ import annotations


def short_name(qualified: str) -> str:
    """A function's name without the functions that it is defined in."""
    return qualified.rsplit("<locals>.", 1)[-1]


def as_code(statement: str) -> str:
    """A statement behind what it does, "" where there is none."""
    return f": `{statement}`" if statement else ""
