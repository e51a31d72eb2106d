"""A list whose old entries can be folded away while every index stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Window(Generic[T]):
    """Appended to like a list; ``len`` counts all that were ever appended, so the next index is always ``len``.

    Records name each other by index. Were the list cut, every number that some observer holds would have to change at
    once; so the numbers stay, the entries before ``start`` live in a dictionary, and only the few that later records
    still refer to are in it.
    """

    def __init__(self, recent: Iterable[T] = (), older: Mapping[int, T] | None = None, start: int = 0) -> None:
        self.start = start
        """Whatever lies before it may be folded away."""
        self.recent: list[T] = [*recent]
        """From ``start`` on. What is added to several windows at once is added here by ``+=``: between two calls of
        ``append`` an interrupt could strike."""
        self._older: dict[int, T] = dict(older or {})
        self.append: Callable[[T], None] = self.recent.append
        """The list's own method: this is the hot path."""

    def __len__(self) -> int:
        return self.start + len(self.recent)

    def __getitem__(self, index: int) -> T:
        return self.recent[index - self.start] if index >= self.start else self._older[index]

    def __setitem__(self, index: int, value: T) -> None:
        if index >= self.start:
            self.recent[index - self.start] = value
        else:
            self._older[index] = value

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and (self.start <= index < len(self) or index in self._older)

    def __iter__(self) -> Iterator[T]:
        yield from self._older.values()
        yield from self.recent

    def get(self, index: int) -> T | None:
        """The entry, None when it was folded away."""
        if index >= self.start:
            return self.recent[index - self.start] if index < len(self) else None
        return self._older.get(index)

    def items(self, start: int = 0) -> Iterator[tuple[int, T]]:
        """(index, entry) of all that are kept, in order, from an index on."""
        if start < self.start:
            yield from ((index, entry) for index, entry in self._older.items() if index >= start)
        first = max(start - self.start, 0)
        recent = self.recent if not first else self.recent[first:]
        yield from enumerate(recent, self.start + first)

    def drained(self) -> Iterator[tuple[int, T]]:
        """The same of all, each let go of at once: of two forms of a million records a few are there together."""
        for index in list(self._older):
            yield index, self._older.pop(index)
        start, left = self.start, self.recent
        left.reverse()
        for index in range(start, start + len(left)):
            yield index, left.pop()
        self.clear()

    def between(self, start: int, end: int) -> list[T]:
        """The entries of a stretch that was not folded."""
        return self.recent[start - self.start : end - self.start]

    @property
    def kept(self) -> int:
        """How many entries are there."""
        return len(self._older) + len(self.recent)

    @property
    def folded(self) -> bool:
        """Whether entries were folded away."""
        return self.kept < len(self)

    def fold(self, cut: int, keep: Collection[int]) -> None:
        """Let go of everything before ``cut`` but the indices to ``keep``."""
        older = {index: entry for index, entry in self._older.items() if index in keep}
        for index in range(self.start, cut):
            if index in keep:
                older[index] = self.recent[index - self.start]
        start = max(cut, self.start)
        del self.recent[: start - self.start]
        self._older, self.start = older, start

    def copied(self) -> Window[T]:
        """Another one with the same entries, which is then appended to by itself."""
        return Window(self.recent, self._older, self.start)

    def settle(self, entries: list[T]) -> None:
        """Begin anew with these entries, numbered from 0."""
        self._older, self.start = {}, 0
        self.recent[:] = entries

    def clear(self) -> None:
        """Forget everything, numbers too."""
        self.settle([])
