"""One filter in front of the program's, which takes the warnings whose place is not the one that CPython found."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

Filters = list[Any]


class Matcher:
    """Stands in a filter where the pattern for the module's name does.

    It has no state, for whoever reads the filters may pickle them, to use them in a worker. A pattern that is made of
    its text matches nothing.
    """

    pattern = "(?!)"
    flags = 0

    def match(self, module: str) -> bool:
        """Whether a warning from that module is one to take. CPython asks it for each, whatever its category."""
        return TAKES(sys._getframe(1), module)


def _none(_frame: Any, _module: str) -> bool:
    return False


TAKES: Callable[[Any, str], bool] = _none
"""What the matcher asks; nothing is taken where no capture is open."""
ENTRY = ("always", None, Warning, Matcher(), 0)
"""With the action "always" CPython notes nowhere that the warning was shown."""


class Front:
    """Keeps the entry in front of whichever list of filters is in force, and knows all lists that it was put in.

    ``warnings.catch_warnings`` makes a copy of the list, and puts the old one back later: maybe after the capture.
    """

    def __init__(self) -> None:
        self._lists: list[Filters] = []

    def put(self) -> None:
        """Into the list that is in force now. Filters count as changed where the program changes them, not here."""
        self._lists = [
            listed for listed, holders in zip(self._lists, _holders(self._lists), strict=True) if holders > _NOBODY
        ]
        for filters in _in_force():
            if not any(listed is filters for listed in self._lists):
                self._lists.append(filters)  # First, so that the way out is known wherever an interrupt strikes.
            if not filters or filters[0] is not ENTRY:
                _remove(filters)
                filters.insert(0, ENTRY)

    def take_out(self) -> None:
        """Out of all of them."""
        for filters in (*_in_force(), *self._lists):
            _remove(filters)
        self._lists.clear()


def _in_force() -> list[Filters]:
    context_filters = getattr(
        warnings, "_get_filters", None
    )  # From Python 3.14 on a context may have filters of its own.
    return [warnings.filters, *([context_filters()] if context_filters is not None else [])]


def _remove(filters: Filters) -> None:
    for place in reversed(range(len(filters))):
        if filters[place] is ENTRY:
            del filters[place]


def _holders(lists: list[Filters]) -> list[int]:
    return [sys.getrefcount(filters) for filters in lists]


_NOBODY = _holders([[]])[0]
"""What is counted for a list that only the list of lists holds: nobody will put it in force again."""
