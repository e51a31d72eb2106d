"""Bytes, each counted once however many tensors share it."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.autograd import SavedTensor

Span = tuple[int, int]


def distinct_bytes(tensors: Iterable[SavedTensor], excluded: frozenset[int] = frozenset()) -> int:
    """What these saved tensors hold in memory, without the ``excluded`` storages."""
    return Held(tensors, excluded).nbytes


class Held:
    """What saved tensors hold in memory; others can be added without looking at each tensor again."""

    __slots__ = ("nbytes", "several", "spans")

    def __init__(self, tensors: Iterable[SavedTensor], excluded: frozenset[int] = frozenset()) -> None:
        self.nbytes = 0
        spans: dict[int, Span] = {}
        # Nearly always one part of a storage is all that is saved of it.
        several: dict[int, set[Span]] = {}
        for tensor in tensors:
            storage = tensor.storage
            if storage < 0:
                self.nbytes += tensor.nbytes
            elif storage not in excluded:
                span = (tensor.offset, tensor.offset + tensor.extent)
                first_span = spans.setdefault(storage, span)
                if first_span != span:
                    several.setdefault(storage, {first_span}).add(span)
        self.nbytes += sum([end - start for start, end in spans.values()])
        for storage, parts in several.items():
            start, end = spans[storage]
            self.nbytes += _covered(parts) - (end - start)
        self.spans = spans
        """Storage -> its part that was saved, or the first of several."""
        self.several = several
        """Of which storages several parts were saved, and which."""

    def take(self, other: Held) -> None:
        """Add what another holds, which is of no use afterwards."""
        self.nbytes += other.nbytes
        if len(other.spans) > len(self.spans):  # the smaller goes into the larger
            self.spans, other.spans = other.spans, self.spans
            self.several, other.several = other.several, self.several
        for storage in self.spans.keys() & other.spans.keys():
            ours, theirs = self.parts(storage), other.parts(storage)
            if ours == theirs and len(ours) == 1:
                [(start, end)] = ours
                self.nbytes -= end - start
                continue
            both = ours | theirs
            self.nbytes += _covered(both) - _covered(ours) - _covered(theirs)
            other.several[storage] = both
        self.spans |= other.spans
        self.several |= other.several

    def parts(self, storage: int) -> set[Span]:
        """The parts of a storage that are held."""
        return self.several.get(storage) or {self.spans[storage]}


def _covered(parts: set[Span]) -> int:
    """Length of the union of intervals."""
    total = reached = 0
    for start, end in sorted(parts):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
