"""Additions to weights of values that trained parameters make: an adapter that is merged into a layer."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.ledger import ASIDE, written_from
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_SUMS = OpKind.ADDS | OpKind.SUBTRACTS
_OPERANDS = 2


class Additions:
    """Each op that adds to a weight of a model, or subtracts from it, in program order: by hand, and outside of a forward."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis, self._capture = analysis, analysis.capture
        self._trained = self._by_storage(analysis.optimized_trainable)
        owned = self._by_storage(analysis.capture.owners) if self._trained else {}
        self.all: list[tuple[int, Op]] = []
        """(weight, op)."""
        for op in analysis.capture.ops if owned else ():
            plain = len(op.writes) == 1 and not op.has(ASIDE | Trait.INNER)
            into = owned.get(op.writes[0].storage, -1) if plain else -1
            if into >= 0 and _addend_of(analysis, op, into) >= 0:
                self.all.append((into, op))

    def _by_storage(self, tensors: Iterable[int]) -> dict[int, int]:
        stored = ((self._capture.tensors[tensor].storage, tensor) for tensor in tensors)
        return {storage: tensor for storage, tensor in stored if storage >= 0}

    def sources(self, into: int, op: Op) -> tuple[int, ...]:
        """The trained parameters that the addend was computed from; none, where data went into it, or what it is added to."""
        capture = self._capture
        own = capture.tensors[into].storage
        found: dict[int, None] = {}
        addend = _addend_of(self._analysis, op, into)
        seen = {addend}
        above = list(self._analysis.flow.upstream([(addend, op.index)]))
        made = {each.index for each, _ in above}
        seen.update(read for each, _ in above for read in each.inputs)
        for tensor in sorted(seen):
            record = capture.tensors[tensor]
            if record.storage == own or record.given or record.kind == "input":
                return ()
            if record.storage in self._trained:
                found[self._trained[record.storage]] = None
            elif record.birth not in made and not record.of_model and record.shape:
                return ()
        return tuple(found)


def _addend_of(analysis: Analysis, op: Op, into: int) -> int:
    """What an op adds to a parameter, in place or in a new tensor that it copies there; -1: it does something else."""
    tensors, flow = analysis.capture.tensors, analysis.flow
    source = written_from(op, op.writes[0])
    summed = op if source is None else flow.birth(source)
    if summed is None or not is_a(summed.name, _SUMS) or len(summed.inputs) != _OPERANDS:
        return -1
    own = [tensors[tensor].storage == tensors[into].storage for tensor in summed.inputs]
    return summed.inputs[1] if own == [True, False] else summed.inputs[0] if own == [False, True] else -1
