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
from autograd_inspector.analysis.gradient_cuts.harmful import group_by_cause, place_of, stepped_with
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_TOLD = ("detached", "no_grad", "inference_mode")
"""A comparison or an index has no gradient to lose, and what left autograd is another story."""
_JOINS = OpKind.CONCATENATES | OpKind.STACKS
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
        starts, lambda op, t: _goes_on(capture, op, t), lambda t: _state(capture, t)
    ):
        if not _fresh(capture, leaves.flow, op, since) or not is_cut(capture, op, through):
            continue
        lost = tuple(t for t in leaves.above(op) if t in learn)
        if lost and cause_of(capture, op, through) in _TOLD:
            cuts[op, through] = lost
    for cut in group_by_cause(capture, cuts, run, fatal=False):
        beside = _reached_beside(capture, leaves, cut, run)
        kept_from = tuple(t for t in cut.parameters if t not in beside)
        if kept_from:
            yield replace(cut, parameters=kept_from, partial=True)


def _state(capture: Capture, tensor: int) -> bool:
    """What was written to the state of a model is an update: whoever reads it does not look for a gradient in there."""
    return capture.tensors[tensor].kind in {"parameter", "buffer"} or is_origin(capture, tensor)


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


def _reached_beside(capture: Capture, leaves: Leaves, cut: GradientCut, run: Backward) -> set[int]:
    """What gets its gradient through an operand beside the cut value: a reference, as in ``q - target`` and ``x - x.max()``.

    The parts that are concatenated or stacked are branches, none of which refers to another; what is only added to a
    loss changes no gradient, and so is no reference.
    """
    added = _added(capture, leaves.flow, run)
    beside: set[int] = set()
    met = set(cut.through)
    todo = list(cut.through)
    while todo:
        tensor = todo.pop()
        for index in capture.readers.get(tensor, ()):
            op = capture.ops[index]
            if not cut.ops[0].index < index < run.start or op.has(Trait.BACKWARD | Trait.STEP):
                continue
            if any(capture.tensors[t].requires_grad for t in op.outputs):
                if not is_a(op.name, _JOINS) and index not in added:
                    others = [t for t in op.inputs if t != tensor and not is_origin(capture, t)]
                    beside.update(leaf for t in others for leaf in leaves.of(t, index))
                continue
            todo += [t for t in op.outputs if t not in met]
            met.update(op.outputs)
    return beside


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
    return is_a(op.name, _LINEAR) or (is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES) and len(op.inputs) == 1)
