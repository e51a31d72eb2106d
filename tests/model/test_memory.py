from __future__ import annotations

from autograd_inspector.model.autograd import SavedTensor
from autograd_inspector.model.memory import distinct_bytes


def saved(storage: int, offset: int, extent: int) -> SavedTensor:
    return SavedTensor("self", 0, (1,), "float32", "cpu", extent, storage, offset, extent, "valid")


def test_overlapping_views_count_their_union():
    """Bytes that two views of one storage share count once, a gap between views not at all."""
    assert distinct_bytes([saved(1, 0, 100), saved(1, 60, 80), saved(1, 20, 10), saved(1, 200, 50)]) == 190


def test_storages_are_told_apart_and_excluded_ones_left_out():
    """Equal offsets of different storages add up; an excluded storage is free; no storage counts its bytes."""
    tensors = [saved(1, 0, 8), saved(2, 0, 8), saved(3, 0, 8), saved(-1, 0, 4), saved(-1, 0, 4)]
    assert distinct_bytes(tensors, frozenset({3})) == 24
