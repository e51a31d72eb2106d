"""Results with a graph that nothing went on with: the losses that backward() was never called on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait


def waiting(capture: Capture, tensors: Iterable[int], start: int = 0, end: int | None = None) -> Iterator[Op]:
    """The ops from ``start`` to ``end`` that made such a result of those tensors.

    What was copied into another one has gone on, and what an engine run began at has had its backward.
    """
    live, begun = set(tensors), capture.begun
    for at in range(start, len(capture.ops) if end is None else end):
        op = capture.ops[at]
        if op.recorded and not live.isdisjoint(op.inputs):
            live.update(op.outputs)
            if (
                op.outputs
                and begun.isdisjoint(op.outputs)
                and not is_a(op.name, OpKind.COPIES)  # A logger clones what it is given, and detaches the copy.
                and not _went_on(capture, op)
            ):
                yield op


def _went_on(capture: Capture, op: Op) -> bool:
    readers = {at for tensor in op.outputs for at in capture.readers.get(tensor, ()) if at > op.index}
    return any(_goes_on(capture, capture.ops[at]) for at in readers)


def _goes_on(capture: Capture, reader: Op) -> bool:
    """Reading a number for the log, itself or by a mean, or cutting a copy off, is none of it."""
    if is_a(reader.name, OpKind.COPIES) and not reader.writes:
        return _went_on(capture, reader)
    return bool(reader.writes) or not (reader.has(Trait.EXPORT) or reader.has(Trait.CUT) or read_out(capture, reader))


def read_out(capture: Capture, op: Op) -> bool:
    """Whether a result served to get a Python number, and nothing else: `x.mean().item()`."""
    readers = {at for tensor in op.outputs for at in capture.readers.get(tensor, ()) if at > op.index}
    return bool(readers) and all(capture.ops[at].has(Trait.EXPORT) for at in readers)


def losses(capture: Capture, tensors: Iterable[int], start: int, end: int) -> Iterator[Op]:
    """Those of these results that are one number, as a loss is; what is read of one of them is not another."""
    made: set[int] = set()
    for op in waiting(capture, tensors, start, end):
        if any(math.prod(capture.tensors[tensor].shape) == 1 for tensor in op.outputs):
            if made.isdisjoint(op.inputs):
                yield op
            made.update(op.outputs)


def forgotten(capture: Capture, timeline: Timeline, step: Step) -> Op | None:
    """The loss that was made for a step and that no backward ran from.

    Another optimizer has stepped, and has used what was backpropagated until then; since that step a loss was computed
    with these parameters, and no backward ran. A `detach()` for the sake of the other one's loss does not explain what
    is missing here.
    """
    previous_step = next(timeline.steps_of(step.optimizer).before(step.at), None)
    other = next(timeline.steps.before(step.at), None)
    if other is None or other is previous_step or step.computed:
        return None
    since = -1 if previous_step is None else previous_step.at
    nothing = step.at - other.at <= 1  # Optimizers step in turn: all of them alike find what came before.
    if nothing or any(run.api == "backward" for run in timeline.runs.within(other.at + 1, step.at)):
        return None
    candidates = losses(capture, (p.tensor for p in step.parameters), since + 1, step.at)
    later = (op for op in candidates if op.index > other.at)
    return min(later, key=lambda op: (read_out(capture, op), op.index), default=None)


def losses_without_backward(capture: Capture, timeline: Timeline) -> dict[int, Op]:
    """Parameters of optimizers for none of whose steps a backward ran -> the loss that waited for one.

    Where one ran for a step that is folded away it was no more than left out this time.
    """
    once = set(capture.history.reached).difference(t for run in capture.backwards for t in run.reached)
    waiting_losses: dict[int, list[Op | None]] = {}
    for step in capture.steps:
        waiting_losses.setdefault(step.optimizer, []).append(forgotten(capture, timeline, step))
    lost = {optimizer: ops[0] for optimizer, ops in waiting_losses.items() if all(ops)}
    return {
        p.tensor: op
        for step in capture.steps
        if (op := lost.get(step.optimizer)) is not None
        for p in step.parameters
        if p.tensor not in once
    }
