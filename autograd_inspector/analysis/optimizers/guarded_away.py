"""Optimizers that never step, because of what the program sees when it looks at its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.op import Trait
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ZeroGradCalled

_Use = Literal["asked", "used", "none"]


_FEWEST = 2
"""Rounds: one may be left out for good reasons."""


class Guarded(Struct, frozen=True):
    """``cleared``: the zero_grad() of each round; ``reads``: the last look in each. ``without``: always None there."""

    optimizer: OptimizerRecord
    cleared: tuple[ZeroGradCalled, ...]
    reads: tuple[GradRead, ...]
    without: tuple[int, ...]


def guarded_optimizers(analysis: Analysis) -> Iterator[Guarded]:
    """Each optimizer that was made in the capture, and never stepped."""
    for optimizer in analysis.capture.placement.optimizers if not analysis.capture.error else ():
        if optimizer.created_at >= 0 and not optimizer.steps and not analysis.timeline.steps_of(optimizer.id).all:
            found = _guarded(analysis, optimizer)
            if found is not None:
                yield found


def _guarded(analysis: Analysis, optimizer: OptimizerRecord) -> Guarded | None:
    timeline, held = analysis.timeline, set(optimizer.held)
    cleared, reads, before = [], [], optimizer.created_at
    for call in timeline.clearings_of(optimizer.id).all:
        runs = [
            run for run in timeline.runs.within(before, call.at) if run.completed and not held.isdisjoint(run.reached)
        ]
        looks = [read for read in timeline.reads.within(before, call.at) if read.tensor in held]
        if runs:
            uses = {_use(analysis, read, call.at) for read in looks}
            if "asked" not in uses or "used" in uses:
                return None
            cleared.append(call)
            reads.append(looks[-1])
        before = call.at
    if len(cleared) < _FEWEST or _moved(analysis, optimizer):
        return None
    without = {read.tensor for read in reads if read.gradient < 0}
    return Guarded(optimizer, tuple(cleared), tuple(reads), tuple(sorted(without)) if len(without) == 1 else ())


def _use(analysis: Analysis, read: GradRead, until: int) -> _Use:
    """What comes of a gradient that was read: "asked" where all ends in a truth value of Python's, or it is None."""
    capture, todo, met = analysis.capture, [read.gradient], {read.gradient}
    use: _Use = "asked" if read.gradient < 0 else "none"
    while todo:
        tensor = todo.pop()
        readers = [capture.ops[at] for at in capture.readers.get(tensor, ()) if read.at <= at < until]
        if not readers and tensor != read.gradient:
            return "used"  # It is kept, as a norm is that is shown in the end.
        for op in readers:
            if is_a(op.name, OpKind.ASKS):
                use = "asked"
            elif op.has(Trait.EXPORT) or op.writes or not op.outputs:
                return "used"
            todo += (made for made in op.outputs if made not in met)
            met.update(op.outputs)
    return use


def _moved(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether something else changed a parameter of its after it was made."""
    storages = {analysis.capture.tensors[tensor].storage for tensor in optimizer.held} - {-1}
    end = len(analysis.capture.ops)
    return any(any(analysis.writes_in(storage, optimizer.created_at, end)) for storage in storages)
