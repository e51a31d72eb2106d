"""Names as they stand in a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def joined(names: Iterable[str], limit: int = 6) -> str:
    """``a, b and 3 more``."""
    given = list(dict.fromkeys(names))
    if len(given) <= limit:
        return ", ".join(given)
    return f"{', '.join(given[:limit])} and {len(given) - limit} more"


def folded(names: Iterable[str], limit: int = 4) -> str:
    """Parameter names for a sentence: many of one module become ``t5.* (47 parameters)``."""
    given = list(dict.fromkeys(names))
    if len(given) <= limit:
        return joined(given, limit)
    groups: dict[str, list[str]] = {}
    for name in given:
        groups.setdefault(name.split(".", maxsplit=1)[0], []).append(name)
    parts = [f"{head}.* ({len(found)} parameters)" if len(found) > 1 else found[0] for head, found in groups.items()]
    return joined(parts, 6)


def short_name(qualified: str) -> str:
    """A function's name without the functions that it is defined in."""
    return qualified.rsplit("<locals>.", 1)[-1]
