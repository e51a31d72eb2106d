"""Bytes, each counted once however many tensors share it."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.autograd import SavedTensor


def distinct_bytes(tensors: Iterable[SavedTensor], excluded: frozenset[int] = frozenset()) -> int:
    """What these saved tensors hold in memory, without the ``excluded`` storages."""
    total = 0
    spans: dict[int, tuple[int, int]] = {}
    # Nearly always one part of a storage is all that is saved of it.
    several: dict[int, set[tuple[int, int]]] = {}
    for tensor in tensors:
        storage = tensor.storage
        if storage < 0:
            total += tensor.nbytes
        elif storage not in excluded:
            span = (tensor.offset, tensor.offset + tensor.extent)
            first_span = spans.setdefault(storage, span)
            if first_span != span:
                several.setdefault(storage, {first_span}).add(span)
    total += sum([end - start for start, end in spans.values()])
    for storage, parts in several.items():
        start, end = spans[storage]
        total += _covered(parts) - (end - start)
    return total


def _covered(parts: set[tuple[int, int]]) -> int:
    """Length of the union of intervals."""
    total = reached = 0
    for start, end in sorted(parts):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
