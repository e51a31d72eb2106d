"""What lies in lists, tuples and dictionaries that lie in each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any

from autograd_inspector.capture.lines.attributes import items_of
from autograd_inspector.capture.lines.kinds import Kinds

_CONTAINERS = Kinds(list, tuple, dict)


def entries_within(values: Collection[Any], deepest: int, most: int) -> Iterator[Any]:
    """The entries, and those of the containers among them: so many at most, of each container once.

    The shorter containers come first: a table of numbers does not hide the tensor beside it.
    """
    met: set[int] = set()
    order = count()
    waiting: list[tuple[int, int, int, Collection[Any]]] = [(len(values), next(order), deepest, values)]
    while waiting and most:
        _, _, deeper, container = heappop(waiting)
        entries = (
            [v for _, v in items_of(container, most)] if type(container) is dict else list(islice(container, most))
        )
        most -= len(entries)
        yield from entries
        for value in entries if deeper else ():
            kind = type(value)
            if kind in _CONTAINERS and id(value) not in met:
                met.add(id(value))
                heappush(waiting, (len(value), next(order), deeper - 1, value))
