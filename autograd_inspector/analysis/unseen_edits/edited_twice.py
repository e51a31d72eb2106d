"""What a checkpointed function modifies outside of it, once in the forward and once again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import Key, key_of, keys_of
from autograd_inspector.model.op import Op, Trait


def edited_in_both_runs(analysis: Analysis) -> Iterator[tuple[Op, Op, int, Op]]:
    """(the edit in the forward, the one in the recomputation, the tensor, what reads it then), the first time for each line."""
    capture = analysis.capture
    if not any(op.has(Trait.BACKWARD) for op in capture.ops):
        return
    forward: dict[tuple[Key, int], Op] = {}
    readers = _Readers(analysis)
    reported_sites: set[int] = set()
    for op in capture.ops:
        if not is_a(op.name, OpKind.ACCUMULATES):
            continue
        for write in op.writes:
            if not op.has(Trait.BACKWARD):
                forward |= {(key, write.storage): op for key in keys_of(analysis, op)}
                continue
            key = (key_of(analysis, op), write.storage)
            if key in forward and op.site not in reported_sites:
                reader = readers.after(op, write.storage)
                if reader is not None:
                    reported_sites.add(op.site)
                    yield forward[key], op, write.tensor, reader


class _Readers:
    """The ops of recomputations that compute with some memory and are differentiated."""

    def __init__(self, analysis: Analysis) -> None:
        self._ops = analysis.capture.ops
        self._by_storage: dict[int, list[int]] = {}
        self._others: list[int] = []
        """The ops outside of any recomputation."""
        tensors = analysis.capture.tensors
        for op in self._ops:
            if not op.has(Trait.BACKWARD):
                self._others.append(op.index)
            elif op.recorded:
                for storage in {tensors[tensor].storage for tensor in op.inputs}:
                    self._by_storage.setdefault(storage, []).append(op.index)

    def after(self, edit: Op, storage: int) -> Op | None:
        """The first of them that reads the memory after the edit, in the same recomputation."""
        readers = self._by_storage.get(storage, [])
        place, over = bisect_right(readers, edit.index), bisect_right(self._others, edit.index)
        if place == len(readers) or (over < len(self._others) and self._others[over] < readers[place]):
            return None
        return self._ops[readers[place]]
