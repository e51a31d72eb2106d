"""What the program computed of gradients that it read: an attack's next input, a perturbation of the weights."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD


class Driven(Struct, frozen=True):
    """What gradients went into, by ops between two moments: ``tensors``, and op by op the ``storages`` it wrote."""

    tensors: frozenset[int]
    storages: dict[int, tuple[Op, ...]]

    def reaches(self, analysis: Analysis, tensor: int) -> bool:
        """Whether they went into a tensor, or into its memory."""
        return tensor in self.tensors or analysis.capture.tensors[tensor].storage in self.storages


def driven_by(analysis: Analysis, leaves: Iterable[int], start: int, end: int) -> Driven:
    """What the gradients of these leaves went into, as far as the program read them between two moments."""
    capture, records = analysis.capture, analysis.capture.tensors
    live = {
        read.gradient
        for leaf in leaves
        for read in analysis.timeline.reads_of(leaf).within(start, end)
        if read.gradient >= 0
    }
    storages: dict[int, list[Op]] = {}
    for op in capture.ops[start:end] if live else ():
        if op.has(_ASIDE):
            continue
        if not any(t in live or records[t].storage in storages for t in op.inputs):
            continue
        live.update(op.outputs)
        for write in op.writes:
            if write.storage >= 0:
                storages.setdefault(write.storage, []).append(op)
    return Driven(frozenset(live), {storage: tuple(ops) for storage, ops in storages.items()})
