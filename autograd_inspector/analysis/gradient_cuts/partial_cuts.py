"""Cuts that keep from parameters a part of the gradient that they get: other ways to the same loss are open.

Often this is intended (a target, a stop-gradient), sometimes half of a gradient is lost (one branch of a shared trunk):
what was observed is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.estimator_terms import estimates
from autograd_inspector.analysis.gradient_cuts.classifier import (
    Cause,
    Cut,
    GradientCut,
    cause_of,
    differentiable,
    is_cut,
    is_origin,
)
from autograd_inspector.analysis.gradient_cuts.harmful import group_by_cause, is_state, stepped_with
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradient_cuts.places import place_of
from autograd_inspector.analysis.gradient_cuts.scored_samples import ScoredSamples
from autograd_inspector.analysis.gradient_cuts.shared_origin import SharedOrigin
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_TOLD = ("detached", "no_grad", "inference_mode", "non-differentiable", "left autograd")
_JOINS = OpKind.CONCATENATES | OpKind.STACKS
_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES
_SIZED = OpKind.RETURNS_CONSTANT | OpKind.TAKES_SHAPE_ONLY
"""A tensor that they are given says how large the result is to be, unless it is the number to fill it with."""
_ADDS = OpKind.ADDS | OpKind.SUBTRACTS
_LINEAR = _ADDS | OpKind.REDUCES | OpKind.NEGATES | OpKind.CONVERTS | OpKind.RESHAPES


def partial_cuts(capture: Capture, flow: DataFlow, meant: frozenset[int]) -> tuple[GradientCut, ...]:
    """The cuts on ways from what learns to its loss, where it learns by other ways; of one line, the first."""
    leaves = Leaves(capture, flow)
    samples = ScoredSamples(leaves)
    runs = [r for r in capture.completed_runs if r.nested_in < 0]
    by_place: dict[tuple[Cause, str, int], GradientCut] = {}
    for run, since in zip(runs, [0, *(run.end for run in runs)], strict=False):
        for cut in _of_run(capture, leaves, run, since, meant):
            key = (cut.cause, *place_of(capture, cut.ops[0], cut.cause))
            lost = _lost(capture, leaves, cut, run) if key not in by_place else ()
            # ``log_prob(sample)`` trains what the sample was drawn from: no way is missing.
            if lost and not samples.scored(cut.ops[0], cut.parameters, run.start):
                parameters = tuple(t for t in cut.parameters if t in lost)
                by_place[key] = replace(cut, parameters=parameters, partial=True)
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
        if not _fresh(capture, leaves.flow, op, since) or not is_cut(capture, op, through):
            continue
        lost = tuple(t for t in leaves.above(op) if t in learn)
        if lost and cause_of(capture, op, through) in _TOLD:
            cuts[op, through] = lost
    yield from group_by_cause(capture, cuts, run, fatal=False)


def _fresh(capture: Capture, flow: DataFlow, op: Op, since: int) -> bool:
    """Whether the graph that an op cuts off was made for this run: that of an earlier one could not be gone through."""
    if op.index < since:
        return False
    return any(
        is_origin(capture, tensor) or any(index >= since for index in flow.producers(tensor, op.index))
        for tensor in op.inputs
    )


def _goes_on(capture: Capture, op: Op, through: int) -> bool:
    """Behind a cut nothing matters, but every op of a no_grad block is one: the whole block is to be told.

    What an index was computed from is asked for: an argmax may come back as a number (``one_hot(...).float()``).
    """
    return not is_cut(capture, op, through) or cause_of(capture, op, through) in {"no_grad", "inference_mode"}


def _lost(capture: Capture, leaves: Leaves, cut: GradientCut, run: Backward) -> set[int]:
    """What gets no gradient through the operations that take the cut value in together with what learns.

    Compared with, or multiplied by, what learns it is a reference or a weight (``mse_loss(q, target)``). In a layer,
    or where it is added to another branch, it is a way to the loss: lost to all that the other operands do not reach.
    The parts that are concatenated, and the terms of a loss, are ways of their own; so is the cut value next to what is
    computed of the same values with its history (``x.detach() - x.mean()``), but for a mask or a count beside its own
    values, which has no gradient at any value: ``(d > 1).float() * (d - 1)``, the load of an expert. Whoever means to
    stop a gradient detaches it: one that stops because the value went through Python or NumPy is told wherever it is taken in.
    """
    lost: set[int] = set()
    added = _added(capture, leaves.flow, run)
    discrete = not any(differentiable(capture.tensors[t].dtype) for t in cut.through)
    for shared, op, taken in _taken_in(capture, leaves.flow, cut, run):
        if estimates(capture, leaves.flow, op):
            continue  # ``hard + (soft - soft.detach())``: what is hard has its gradient from what is soft.
        others = [t for t in op.inputs if t != taken and capture.tensors[t].requires_grad]
        shape = capture.tensors[taken].shape  # A weight of a layer has another one than what goes through the layer.
        computed = [t for t in others if not is_origin(capture, t) or capture.tensors[t].shape == shape]
        counts = discrete and is_a(op.name, _SCALES | OpKind.SUBTRACTS)
        parted = _rewrapped(cut) or (not counts and any(shared.has(t) for t in computed))
        if cut.ops[0].name == "grad":
            # It is a value (an attack, a score), unless it is a term of the loss: a trace, say.
            lost.update(cut.parameters if op.index in added else ())
        elif is_a(op.name, _JOINS) or op.index in added or not computed or parted:
            lost.update(cut.parameters)
        elif is_a(op.name, OpKind.ADDS) or len(computed) < len(others):
            lost.update(set(cut.parameters).difference(*(leaves.of(t, op.index) for t in computed)))
    return lost


def _rewrapped(cut: GradientCut) -> bool:
    return cut.cause == "left autograd" and any(is_a(op.name, OpKind.REWRAPS) for op in cut.ops)


def _taken_in(
    capture: Capture, flow: DataFlow, cut: GradientCut, run: Backward
) -> Iterator[tuple[SharedOrigin, Op, int]]:
    """(what shares its origin with the cut value, op with a gradient, the operand without that came from the cut)."""
    calls = grouped(zip(cut.ops, cut.through, strict=True), lambda member: member[0].site)
    for members in calls.values():  # Two calls on one line cut two values.
        ops, through = zip(*members, strict=True)
        shared = SharedOrigin(capture, flow, replace(cut, ops=ops, through=through), run.start)
        for op, taken in _readers(capture, list(through), ops[0].index, run):
            yield shared, op, taken


def _readers(capture: Capture, through: list[int], start: int, run: Backward) -> Iterator[tuple[Op, int]]:
    """Each op once, however many of its operands came from the cut."""
    met = set(through)
    read: set[int] = set()
    todo = through
    while todo:
        tensor = todo.pop()
        number = differentiable(capture.tensors[tensor].dtype)  # An index, a label or a mask has no gradient to lose.
        for index in capture.readers.get(tensor, ()):
            op = capture.ops[index]
            if index in read or not start < index < run.start or op.has(Trait.BACKWARD | Trait.STEP):
                continue
            recorded = any(capture.tensors[t].requires_grad for t in op.outputs)
            if number or not recorded:
                read.add(index)
            if recorded and number:
                yield op, tensor
            elif not recorded and not _takes_the_shape(op) and not (number and _stops(capture, op)):
                todo += [t for t in op.outputs if t not in met and _keeps(capture, t, number=number)]
                met.update(op.outputs)


def _takes_the_shape(op: Op) -> bool:
    return is_a(op.name, _SIZED) and not is_a(op.name, OpKind.SETS_NUMBER)


def _keeps(capture: Capture, made: int, *, number: bool) -> bool:
    """Whether a gradient could be asked for along this way: one that leads from numbers to indices ends there."""
    return not number or differentiable(capture.tensors[made].dtype)


def _stops(capture: Capture, op: Op) -> bool:
    """Whether nothing is lost by the cut before an op: a comparison, or a draw, lets no gradient back of its own."""
    return is_a(op.name, OpKind.DRAWS | OpKind.PIECEWISE_CONSTANT) or not any(
        differentiable(capture.tensors[tensor].dtype) for tensor in op.outputs
    )


def _added(capture: Capture, flow: DataFlow, run: Backward) -> set[int]:
    """The additions and subtractions whose operands reach the loss by nothing but sums, means and signs."""
    starts = [(root, run.start) for root in run.roots]
    linear = (
        op
        for op, _ in flow.upstream(starts, lambda op, _: _linear(capture, op), lambda t: is_origin(capture, t))
        if is_a(op.name, _ADDS)
    )
    return {op.index for op in linear}


def _linear(capture: Capture, op: Op) -> bool:
    """Whether the derivative by what learns is a constant: a scale is, where only what is scaled learns."""
    if is_a(op.name, _LINEAR):
        return True
    learning = [at for at, tensor in enumerate(op.inputs) if capture.tensors[tensor].requires_grad]
    return is_a(op.name, _SCALES) and len(learning) <= 1 and not (is_a(op.name, OpKind.DIVIDES) and learning == [1])
