"""Bytes, each counted once however many tensors share it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from autograd_inspector.model.autograd import SavedTensor


def distinct_bytes(tensors: Iterable[SavedTensor], excluded: frozenset[int] = frozenset()) -> int:
    """What these saved tensors hold in memory, without the ``excluded`` storages."""
    total = 0
    spans: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for tensor in tensors:
        if tensor.storage < 0:
            total += tensor.nbytes
        elif tensor.storage not in excluded:
            spans[tensor.storage].add((tensor.offset, tensor.offset + tensor.extent))
    return total + sum(_covered(parts) for parts in spans.values())


def _covered(parts: set[tuple[int, int]]) -> int:
    """Length of the union of intervals."""
    total = reached = 0
    for start, end in sorted(parts):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
