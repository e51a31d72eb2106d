"""Classes told by which object they are: a metaclass of the program's may compute equality and hash, or refuse both."""

from __future__ import annotations

from collections.abc import Iterable


class Kinds:
    """A few classes that live for ever, as a set that runs no code of the class that is looked for."""

    __slots__ = ("_ids", "kinds")

    def __init__(self, *kinds: type) -> None:
        self.kinds = kinds
        self._ids = frozenset(map(id, kinds))

    def __contains__(self, kind: type) -> bool:
        return id(kind) in self._ids

    def isdisjoint(self, kinds: Iterable[type]) -> bool:
        """Whether none of those is one of these."""
        return self._ids.isdisjoint(map(id, kinds))

    def issuperset(self, kinds: Iterable[type]) -> bool:
        """Whether all of those are among these."""
        return self._ids.issuperset(map(id, kinds))
