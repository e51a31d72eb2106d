"""Results with a graph that nothing went on with: the losses that backward() was never called on."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.catalogue import Facts


def waits(facts: Facts, tensors: Iterable[int]) -> bool:
    """Whether an op made such a result of those tensors; what was copied into another one has gone on."""
    live, capture = set(tensors), facts.capture
    for op in capture.ops:
        if op.last_seq > op.first_seq and not live.isdisjoint(op.inputs):
            live.update(op.outputs)
            readers = (capture.ops[at] for t in op.outputs for at in capture.readers.get(t, ()) if at > op.index)
            if op.outputs and not any(map(_goes_on, readers)):
                return True
    return False


def _goes_on(reader: Op) -> bool:
    """Reading a number for the log, or cutting a copy off, is none of it."""
    return bool(reader.writes) or not (reader.has(Trait.EXPORT) or reader.has(Trait.CUT))
