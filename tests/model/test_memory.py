from __future__ import annotations

from itertools import chain, permutations

from autograd_inspector.model.autograd import SavedTensor
from autograd_inspector.model.memory import Held, distinct_bytes


def saved(storage: int, offset: int, extent: int) -> SavedTensor:
    return SavedTensor("self", 0, (1,), "float32", "cpu", extent, storage, offset, extent, "valid")


def test_overlapping_views_count_their_union():
    """Bytes that two views of one storage share count once, a gap between views not at all."""
    assert distinct_bytes([saved(1, 0, 100), saved(1, 60, 80), saved(1, 20, 10), saved(1, 200, 50)]) == 190


def test_parts_are_added_as_if_all_had_been_there():
    """What several hold together is what one holds that has all of their tensors, whichever is larger."""
    parts = [
        [saved(1, 0, 100), saved(-1, 0, 4)],
        [saved(1, 60, 80), saved(2, 0, 8), saved(3, 0, 8), saved(3, 4, 8)],
        [saved(1, 20, 10), saved(2, 0, 8), saved(3, 20, 8)],
        [],
        [saved(1, 0, 100)],
    ]
    for order in permutations(parts):
        held = Held([])
        for part in order:
            held.take(Held(part))
        assert held.nbytes == distinct_bytes(chain.from_iterable(parts))


def test_storages_are_told_apart_and_excluded_ones_left_out():
    """Equal offsets of different storages add up; an excluded storage is free; no storage counts its bytes."""
    tensors = [saved(1, 0, 8), saved(2, 0, 8), saved(3, 0, 8), saved(-1, 0, 4), saved(-1, 0, 4)]
    assert distinct_bytes(tensors, frozenset({3})) == 24
