"""AG202 under checkpointing: the checkpointed function modifies what lives outside, once in forward and once again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.ag202_unseen_edit.recomputed_forwards import Key, key_of, keys_of


def edited_twice(analysis: Analysis) -> Iterator[Problem]:
    """An edit that the recomputation repeats, of memory that an op after it reads in both runs."""
    capture = analysis.capture
    if not capture.op_index.having(Trait.BACKWARD):
        return
    forward: dict[tuple[Key, int], Op] = {}
    readers = _Readers(analysis)
    reported_sites: set[int] = set()
    for op in ops_of(capture, OpKind.ACCUMULATES):
        for write in op.writes:
            if not op.has(Trait.BACKWARD):
                forward |= {(key, write.storage): op for key in keys_of(analysis, op)}
                continue
            key = (key_of(analysis, op), write.storage)
            if key in forward and op.site not in reported_sites:
                reader = readers.after(op, write.storage)
                if reader is not None:
                    reported_sites.add(op.site)
                    yield _finding(analysis, forward[key], op, write.tensor, reader)


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


def _finding(analysis: Analysis, first: Op, again: Op, tensor: int, reader: Op) -> Problem:
    name = name_of(analysis, next((w.tensor for w in first.writes), tensor))
    return Problem(
        "error",
        f"`{first.name}` inside the checkpointed function modifies {name}, which is defined outside of it: backward runs the "
        f"function again, so it is modified twice, `{reader.name}` is recomputed with different values, and "
        "the gradients are silently wrong",
        f"Compute out of place inside the checkpointed function, or modify {name} outside of it.",
        analysis.places((first, "modified here"), (reader, "recomputed with different values here")),
        (name, first.name),
        (
            f"The forward ran `{first.name}` once.",
            f"Backward ran the checkpointed function again, and with it `{again.name}` on the result of the first run.",
        ),
        (first.index, again.index),
    )
