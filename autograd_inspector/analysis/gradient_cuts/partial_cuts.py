"""Cuts that keep from parameters a part of the gradient that they get: other ways to the same loss are open.

Often this is intended (a target, a stop-gradient), sometimes half of a gradient is lost (one branch of a shared trunk):
what was observed is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import (
    Cause,
    Cut,
    GradientCut,
    cause_of,
    differentiable,
    is_cut,
    is_origin,
)
from autograd_inspector.analysis.gradient_cuts.harmful import group_by_cause, is_state, place_of, stepped_with
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_TOLD = ("detached", "no_grad", "inference_mode", "non-differentiable", "left autograd")
_JOINS = OpKind.CONCATENATES | OpKind.STACKS
_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES
_ADDS = OpKind.ADDS | OpKind.SUBTRACTS
_LINEAR = _ADDS | OpKind.REDUCES | OpKind.NEGATES | OpKind.CONVERTS | OpKind.RESHAPES


def partial_cuts(capture: Capture, flow: DataFlow, meant: frozenset[int]) -> tuple[GradientCut, ...]:
    """The cuts on ways from what learns to its loss, where it learns by other ways; of one line, the first."""
    leaves = Leaves(capture, flow)
    runs = [r for r in capture.backwards if r.api == "backward" and not r.error and r.nested_in < 0]
    by_place: dict[tuple[Cause, str, int], GradientCut] = {}
    for run, since in zip(runs, [0, *(run.end for run in runs)], strict=False):
        for cut in _of_run(capture, leaves, run, since, meant):
            by_place.setdefault((cut.cause, *place_of(capture, cut.ops[0], cut.cause)), cut)
    return tuple(by_place.values())


def _of_run(
    capture: Capture, leaves: Leaves, run: Backward, since: int, meant: frozenset[int]
) -> Iterator[GradientCut]:
    stepped = {tensor for held in stepped_with(capture, run) for tensor in held} or meant
    learn = meant.intersection(stepped, run.reached).difference(run.empty)
    if not learn:
        return
    cuts: dict[Cut, tuple[int, ...]] = {}
    starts = [(root, run.start) for root in run.roots]
    for op, through in leaves.flow.upstream(
        starts, lambda op, t: _goes_on(capture, op, t), lambda t: is_state(capture, t) or is_origin(capture, t)
    ):
        # The gradient that autograd.grad returns is a value: an attack, a score.
        if op.name == "grad" or not _fresh(capture, leaves.flow, op, since) or not is_cut(capture, op, through):
            continue
        lost = tuple(t for t in leaves.above(op) if t in learn)
        if lost and cause_of(capture, op, through) in _TOLD:
            cuts[op, through] = lost
    for cut in group_by_cause(capture, cuts, run, fatal=False):
        lost_here = _lost(capture, leaves, cut, run)
        if lost_here:
            yield replace(cut, parameters=tuple(t for t in cut.parameters if t in lost_here), partial=True)


def _fresh(capture: Capture, flow: DataFlow, op: Op, since: int) -> bool:
    """Whether the graph that an op cuts off was made for this run: that of an earlier one could not be gone through."""
    if op.index < since:
        return False
    return any(
        is_origin(capture, tensor) or any(index >= since for index in flow.producers(tensor, op.index))
        for tensor in op.inputs
    )


def _goes_on(capture: Capture, op: Op, through: int) -> bool:
    """Behind a cut nothing matters, but every op of a no_grad block is one: the whole block is to be told."""
    if not differentiable(capture.tensors[through].dtype):
        return False
    return not is_cut(capture, op, through) or cause_of(capture, op, through) in {"no_grad", "inference_mode"}


def _lost(capture: Capture, leaves: Leaves, cut: GradientCut, run: Backward) -> set[int]:
    """What gets no gradient through the operations that take the cut value in together with what learns.

    Compared with, or multiplied by, what learns it is a reference or a weight (``mse_loss(q, target)``). In a layer,
    or where it is added to another branch, it is a way to the loss: lost to all that the other operands do not reach.
    The parts that are concatenated, and the terms of a loss, are ways of their own.
    """
    lost: set[int] = set()
    added = _added(capture, leaves.flow, run)
    for op, taken in _taken_in(capture, cut, run):
        if not differentiable(capture.tensors[taken].dtype):
            continue  # An index, a label or a mask has no gradient to lose.
        others = [t for t in op.inputs if t != taken and capture.tensors[t].requires_grad]
        shape = capture.tensors[taken].shape  # A weight of a layer has another one than what goes through the layer.
        computed = [t for t in others if not is_origin(capture, t) or capture.tensors[t].shape == shape]
        if is_a(op.name, _JOINS) or op.index in added or not computed:
            lost.update(cut.parameters)
        elif is_a(op.name, OpKind.ADDS) or len(computed) < len(others):
            lost.update(set(cut.parameters).difference(*(leaves.of(t, op.index) for t in computed)))
    return lost


def _taken_in(capture: Capture, cut: GradientCut, run: Backward) -> Iterator[tuple[Op, int]]:
    """(op with a gradient, the operand without that came from the cut)."""
    met = set(cut.through)
    todo = list(cut.through)
    while todo:
        tensor = todo.pop()
        for index in capture.readers.get(tensor, ()):
            op = capture.ops[index]
            if not cut.ops[0].index < index < run.start or op.has(Trait.BACKWARD | Trait.STEP):
                continue
            if any(capture.tensors[t].requires_grad for t in op.outputs):
                yield op, tensor
                continue
            todo += [t for t in op.outputs if t not in met]
            met.update(op.outputs)


def _added(capture: Capture, flow: DataFlow, run: Backward) -> set[int]:
    """The additions and subtractions whose operands reach the loss by nothing but sums, means and signs."""
    starts = [(root, run.start) for root in run.roots]
    linear = (
        op
        for op, _ in flow.upstream(starts, lambda op, _: _linear(op), lambda t: is_origin(capture, t))
        if is_a(op.name, _ADDS)
    )
    return {op.index for op in linear}


def _linear(op: Op) -> bool:
    return is_a(op.name, _LINEAR) or (is_a(op.name, _SCALES) and len(op.inputs) == 1)
