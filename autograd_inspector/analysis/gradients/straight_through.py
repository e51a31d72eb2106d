"""Straight-through estimators that detach the wrong term: ``hard - soft + soft.detach()``, ``hard + (soft - hard).detach()``.

Written out as a sum of terms with signs, detached ones apart, what is estimated cancels in the value, and is left in the
gradient. In the first one it is left with a minus: gradients point uphill, which no loss shows. In the second one the
two have changed places: the value is the soft one, and the gradient goes to what was looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.estimator_terms import signs_of
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.analysis.signed_sums import SUMS
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.tensor import TensorRecord

_ASIDE = Trait.BACKWARD | Trait.STEP
_TAKES_OUT = SUMS | OpKind.NEGATES | OpKind.DETACHES


class Estimator(Struct, frozen=True):
    """``joined`` has the value of one tensor, and hands its gradient to another one.

    ``swapped``: to the one that was computed from the other without a derivative. Else with its sign reversed.
    """

    joined: Op
    value: int
    gradient: int
    swapped: bool


def reversed_estimators(analysis: Analysis) -> Iterator[Estimator]:
    """Each sum that is one, once a line."""
    tensors = analysis.capture.tensors
    if not any(map(partial(_takes_out, tensors), ops_of(analysis.capture, _TAKES_OUT))):
        return
    told: set[int] = set()
    leaves = Leaves(analysis.capture, analysis.flow)
    for op in ops_of(analysis.capture, SUMS):
        if op.writes or op.has(_ASIDE) or op.site in told:
            continue
        if len(op.outputs) != 1 or not tensors[op.outputs[0]].requires_grad or len(op.inputs) > 2:
            continue
        estimator = _estimator(analysis, leaves, op)
        if estimator is not None and (estimator.swapped or not _residual(analysis, op)):
            told.add(op.site)
            yield estimator


def _takes_out(tensors: Sequence[TensorRecord], op: Op) -> bool:
    """Whether a term may be in the value of a sum and not in its gradient because of that op.

    Where no op of the program does so, no sum need be taken apart.
    """
    return is_a(op.name, OpKind.DETACHES) or any(not tensors[output].requires_grad for output in op.outputs)


def _residual(analysis: Analysis, op: Op) -> bool:
    """Whether only its size is used: the difference of a prediction and of a target that was made of that prediction.

    The sign of such a difference, and so that of its gradient, means nothing.
    """
    capture = analysis.capture
    readers = [capture.ops[index] for index in capture.readers.get(op.outputs[0], ())]
    return bool(readers) and all(
        is_a(reader.name, OpKind.EVEN) or len(set(reader.inputs)) < len(reader.inputs) for reader in readers
    )


def _estimator(analysis: Analysis, leaves: Leaves, op: Op) -> Estimator | None:
    values, gradients = signs_of(analysis.capture, analysis.flow, op)
    requires_grad = {tensor for tensor in values if analysis.capture.tensors[tensor].requires_grad}
    gone = [tensor for tensor, value in values.items() if not value and gradients[tensor] and tensor in requires_grad]
    left = [t for t, value in values.items() if value > 0 and (not gradients[t] or t not in requires_grad)]
    for cancelled in gone:
        for kept in left:
            if gradients[cancelled] < 0 and _reads(analysis, kept, cancelled, op):
                return Estimator(op, kept, cancelled, swapped=False)
            looked_up = gradients[cancelled] > 0 and kept in requires_grad and _reads(analysis, cancelled, kept, op)
            if looked_up and set(leaves.of(cancelled, op.index)).isdisjoint(leaves.of(kept, op.index)):
                return Estimator(op, kept, cancelled, swapped=True)
    return None


def _reads(analysis: Analysis, one: int, other: int, op: Op) -> bool:
    """Whether one value was computed from the other, with a derivative or without."""
    return any(other in above.inputs for above, _ in analysis.flow.upstream([(one, op.index)]))
