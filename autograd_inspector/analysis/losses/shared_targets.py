"""Targets of a model that has parameters in common with the one that is trained: the target moves with each step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.losses.idle_namesakes import IdleNamesakes, idle_namesakes
from autograd_inspector.analysis.modules.sharing import Sharing, shared_by
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import differentiated
from autograd_inspector.model.op import ModuleCall, Op, Trait

_MOST = 200
"""Ops behind a side of a loss that are looked at."""


_COMPARES = OpKind.MEASURES | OpKind.SUBTRACTS


class SharedTarget(Struct, frozen=True):
    """``compared`` measures what ``trained`` computed against what ``teacher`` did, another model without a graph.

    ``tensors`` are parameters of both, which an optimizer steps. ``shared``: where they came to be in both, if known.
    ``whole``: the teacher has no others. ``idle``: it has its own, and they are not used.
    """

    compared: Op
    trained: ModuleCall
    teacher: ModuleCall
    tensors: tuple[int, ...]
    shared: Sharing | None
    whole: bool
    idle: IdleNamesakes | None


def shared_targets(analysis: Analysis) -> Iterator[SharedTarget]:
    """Each line once."""
    told: set[object] = set()
    for op in differentiated(analysis.capture, _COMPARES | OpKind.TARGETED):
        line = line_of(analysis, op.site)
        compares = is_a(op.name, _COMPARES) or not is_a(op.name, OpKind.TAKES_CLASSES)
        if compares and len(op.inputs) > 1 and not op.has(Trait.BACKWARD) and line not in told:
            found = _found(analysis, op)
            if found is not None:
                told.add(line)
                yield found


def _found(analysis: Analysis, op: Op) -> SharedTarget | None:
    tensors = analysis.capture.tensors
    value, target = op.inputs[:2]
    differs = is_a(op.name, OpKind.SUBTRACTS)
    if differs and tensors[target].requires_grad:
        value, target = target, value
    if not tensors[value].requires_grad or tensors[target].requires_grad:
        return None
    trained, teacher = _model_behind(analysis, value, op), _model_behind(analysis, target, op)
    if trained is None or teacher is None or trained.root == teacher.root:
        return None
    if differs and trained.type != teacher.type:
        return None  # What is subtracted may be anything; of two models of one class it is the same quantity.
    own = _read_by(analysis, teacher)
    common = _read_by(analysis, trained) & own & analysis.optimized_trainable & analysis.received_gradient
    if not common:
        return None
    shared, idle = shared_by(analysis.capture, common), idle_namesakes(analysis, teacher, sorted(common))
    return SharedTarget(op, trained, teacher, tuple(sorted(common)), shared, own <= common, idle)


def _model_behind(analysis: Analysis, tensor: int, op: Op) -> ModuleCall | None:
    """The model that computed its numbers, and not which of them were picked: the outermost call of the nearest op."""
    tensors = analysis.capture.tensors
    above = analysis.flow.upstream([(tensor, op.index)], lambda _, read: differentiable(tensors[read].dtype))
    nearest = next((made for made, _ in islice(above, _MOST) if made.call >= 0), None)
    return None if nearest is None else analysis.capture.model_call_of(nearest)


def _read_by(analysis: Analysis, call: ModuleCall) -> frozenset[int]:
    """The parameters that ops within a call read."""
    capture, end = analysis.capture, len(analysis.capture.ops)
    later = (other.at for other in capture.calls[call.id + 1 :] if other.parent < 0)
    ops = capture.ops[call.at : next(later, end)]
    return frozenset(t for op in ops if op.call >= call.id for t in op.inputs if capture.tensors[t].kind == "parameter")
