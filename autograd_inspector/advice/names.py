"""Names as they stand in a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def join_names(names: Iterable[str], limit: int = 6) -> str:
    """``a, b and 3 more``."""
    given = list(dict.fromkeys(names))
    if len(given) <= limit:
        return ", ".join(given)
    return f"{', '.join(given[:limit])} and {len(given) - limit} more"


def summarize_names(names: Iterable[str], limit: int = 4) -> str:
    """Parameter names for a sentence: many of one module become ``t5.* (47 parameters)``."""
    given = list(dict.fromkeys(names))
    if len(given) <= limit:
        return join_names(given, limit)
    groups: dict[str, list[str]] = {}
    for name in given:
        groups.setdefault(name.split(".", maxsplit=1)[0], []).append(name)
    parts = [f"{head}.* ({len(found)} parameters)" if len(found) > 1 else found[0] for head, found in groups.items()]
    return join_names(parts, 6)


def short_name(qualified: str) -> str:
    """A function's name without the functions that it is defined in."""
    return qualified.rsplit("<locals>.", 1)[-1]


def as_code(statement: str) -> str:
    """A statement behind what it does, "" where there is none."""
    return f": `{statement}`" if statement else ""
