"""Running averages that are copied over the parameters for an evaluation, and stay there: the training goes on from them.

Some methods train on from an average (Lookahead, an average that is switched in once an epoch). They put it in while the
model trains. What is put in while the model is in eval mode, right before a forward without gradients, is for that forward.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.ledger import Ledger, written_from
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import ModeSwitched

_FEWEST = 2
"""Updates from the parameter make an average of it; one may be the copy that it began with."""
_MOST = 16
"""Tensors between a parameter and what an update adds of it."""


class AverageLeftIn(Struct, frozen=True):
    """``written`` put the average into a parameter, for the forward ``evaluated``; ``step`` (its op) goes on from it."""

    tensor: int
    written: Op
    updated: Op
    evaluated: ModuleCall
    step: int


def averages_left_in(analysis: Analysis) -> Iterator[AverageLeftIn]:
    """The first time for each parameter."""
    if any(not call.training for call in analysis.capture.calls):
        evaluations = _Evaluations(analysis)
        found = (_found(analysis, evaluations, tensor) for tensor in analysis.optimized_trainable)
        yield from (each for each in found if each is not None)


class _Evaluations:
    """Calls of modules in eval mode, the moments at which modes were switched, and the steps of each parameter."""

    def __init__(self, analysis: Analysis) -> None:
        self._capture = analysis.capture
        self._starts = [call.at for call in analysis.capture.calls]
        self._switched = [event.at for event in analysis.capture.events_of(ModeSwitched)]
        self.ledger = Ledger(analysis)
        self.steps: dict[int, list[int]] = {}
        """Parameter -> the ops that stand for the steps that met a gradient of it."""
        for step in analysis.capture.steps:
            for p in step.parameters:
                if p.gradient >= 0:
                    self.steps.setdefault(p.tensor, []).append(step.op)

    def behind(self, written: Op, step: int) -> ModuleCall | None:
        """The next call of a module, where it runs in eval mode and without gradients, and the mode was that before."""
        capture, at = self._capture, bisect_left(self._starts, written.index)
        call = capture.calls[at] if at < len(self._starts) else None
        if call is None or call.training or call.at >= step:
            return None
        ops = (capture.ops[index] for index in range(call.at, step))
        first = next((op for op in ops if op.call >= call.id and op.outputs), None)
        switched = bisect_right(self._switched, call.at) > bisect_right(self._switched, written.index)
        return None if first is None or first.recorded or switched else call


def _found(analysis: Analysis, evaluations: _Evaluations, tensor: int) -> AverageLeftIn | None:
    for before, step in pairwise(evaluations.steps.get(tensor, ())):
        writes = evaluations.ledger.by_hand(tensor, before + 1, step)
        source = written_from(*writes[0]) if len(writes) == 1 else None
        if source is None:
            continue
        written = writes[0][0]
        evaluated = evaluations.behind(written, step)
        updated = _update(analysis, source, tensor, written.index) if evaluated is not None else None
        if evaluated is not None and updated is not None:
            return AverageLeftIn(tensor, written, updated, evaluated, step)
    return None


def _update(analysis: Analysis, average: int, tensor: int, now: int) -> Op | None:
    """The last op that moved that memory towards the parameter, where several did."""
    capture = analysis.capture
    storage, parameter = capture.tensors[average].storage, capture.tensors[tensor].storage
    if storage == parameter or storage < 0:
        return None
    made = [op for op, _ in analysis.writes_to(storage, average, 0, now) if _moves(analysis, op, storage, parameter)]
    return made[-1] if len(made) >= _FEWEST else None


def _moves(analysis: Analysis, op: Op, average: int, parameter: int) -> bool:
    """Whether it writes something else than a copy: what it adds, or interpolates with, was made of the parameter."""
    tensors = analysis.capture.tensors
    if is_a(op.name, OpKind.COPIES_INTO) or op.has(Trait.STEP):
        return False
    todo, met = [t for t in op.inputs if tensors[t].storage != average], set[int]()
    while todo and len(met) < _MOST:
        each = todo.pop()
        if tensors[each].storage == parameter:
            return True
        made = analysis.flow.birth(each)
        if each not in met and made is not None and not made.has(Trait.STEP | Trait.BACKWARD):
            met.add(each)
            todo += made.inputs
    return False
