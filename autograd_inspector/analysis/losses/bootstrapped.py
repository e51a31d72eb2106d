"""Targets that the network computes which they are targets for: ``reward + gamma * net(next_state)`` with its graph.

Such a target is a number: the prediction is to follow it. With its graph backward moves both ends towards each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.losses.measured import measured
from autograd_inspector.analysis.losses.walks import is_light
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import differentiated
from autograd_inspector.analysis.signed_sums import SUMS
from autograd_inspector.model.op import Op, Trait

_COMPARES = OpKind.MEASURES | OpKind.SUBTRACTS
_MOST = 32
"""Ops between a target and the network that it was computed with."""


class Bootstrapped(Struct, frozen=True):
    """``compared`` measures how far a prediction is from ``target``.

    ``added`` adds something that was given to what ``used``, an op of the network, led to; both lie behind the target.
    ``parameters`` compute the prediction and the target.
    """

    compared: Op
    target: int
    added: Op
    used: Op
    parameters: tuple[int, ...]


def bootstrapped(analysis: Analysis) -> Iterator[Bootstrapped]:
    """Of what the losses were computed with, each line once.

    Of two ends that one network computes, the one that data is added to, and that is multiplied before, is a target. Two
    views of a sample that are to agree have no such end.
    """
    capture, leaves = analysis.capture, Leaves(analysis.capture, analysis.flow)
    told: set[object] = set()
    for op in differentiated(capture, _COMPARES):
        if op.has(Trait.BACKWARD) or len(op.inputs) < 2 or line_of(analysis, op.site) in told:
            continue
        if not all(capture.tensors[tensor].requires_grad for tensor in op.inputs[:2]):
            continue
        if op.writes and not is_a(op.name, OpKind.MEASURES):
            continue
        found = _found(analysis, leaves, op)
        if found is not None and (is_a(op.name, OpKind.MEASURES) or measured(capture, op)):
            told.add(line_of(analysis, op.site))
            yield found


def _found(analysis: Analysis, leaves: Leaves, op: Op) -> Bootstrapped | None:
    one, other = op.inputs[:2]
    ends = {one: _discounted(analysis, one, op), other: _discounted(analysis, other, op)}
    targets = [tensor for tensor, end in ends.items() if end is not None]
    end = ends[targets[0]] if len(targets) == 1 else None
    if end is None:
        return None
    target, prediction = targets[0], other if targets[0] == one else one
    predicting = set(leaves.of(prediction, op.index)) & analysis.optimized_trainable
    if not predicting or not predicting <= set(leaves.of(target, op.index)):
        return None
    if any(above.index == end[1].index for above, _ in analysis.flow.upstream([(prediction, op.index)])):
        return None  # One result of the network, and what was made of it: a deviation from a mean.
    return Bootstrapped(op, target, *end, tuple(sorted(predicting)))


def _discounted(analysis: Analysis, tensor: int, before: Op) -> tuple[Op, Op] | None:
    """(what adds data, the op of a network behind it), if a tensor is data plus what a network computed times a factor."""
    tensors, flow = analysis.capture.tensors, analysis.flow
    todo: list[tuple[int, int, Op | None, bool]] = [(tensor, before.index, None, False)]
    """(tensor, before which op, what added data to it, whether it is multiplied within that)."""
    seen: set[tuple[int, bool, bool]] = set()
    while todo and len(seen) < _MOST:
        each, limit, added, scaled = todo.pop()
        if (each, added is not None, scaled) in seen:
            continue
        seen.add((each, added is not None, scaled))
        made = next((analysis.capture.ops[at] for at in flow.producers(each, limit)), None)
        if made is None:
            continue
        if not is_light(made.name):
            if added is not None and scaled:
                return added, made
            continue
        learning = [read for read in made.inputs if tensors[read].requires_grad]
        data = len(learning) < len(made.inputs)
        if is_a(made.name, SUMS) and len(learning) > 1 and not scaled:
            continue
        if is_a(made.name, SUMS) and data and added is None:
            added = made
        if is_a(made.name, OpKind.MULTIPLIES) and added is not None and len(learning) == 1:
            scaled = True
        todo += [(read, made.index, added, scaled) for read in learning]
    return None
