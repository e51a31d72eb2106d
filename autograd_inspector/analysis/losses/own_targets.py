"""Targets that a network computes for itself, of the same input: a student that is its own teacher.

The loss is at its minimum whatever the parameters are: it measures how far a value is from itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.callers import callee
from autograd_inspector.analysis.gradients.likeness import Likeness
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModelsShared

_DISTRIBUTIONS = OpKind.SOFTMAX | OpKind.TAKES_LOG | OpKind.EXPONENTIATES
"""What leads from scores to probabilities, and on to their logarithms."""
_ALIKE = OpKind.VIEWS | OpKind.CONVERTS | OpKind.COPIES | OpKind.DETACHES
_DIVERGENCE = "kl_div"


class OwnTarget(Struct, frozen=True):
    """``compared`` measures how far ``value`` is from ``target``; ``made`` and ``again`` computed the same for both."""

    compared: Op
    value: int
    target: int
    made: Op
    again: Op
    named: ModelsShared | None = None


def own_targets(analysis: Analysis) -> Iterator[OwnTarget]:
    """Each line once, where it was so in every round, with a step before the next one.

    In the first of several steps on one batch a policy is its old self by right; a divergence that is differentiated
    twice is at its minimum by right as well: its curvature is asked for.
    """
    likeness = Likeness(analysis)
    rounds: dict[object, list[tuple[Op, OwnTarget | None]]] = {}
    for index in _comparing(analysis.capture):
        op = analysis.capture.ops[index]
        if not op.has(Trait.BACKWARD) and len(op.inputs) >= 2:
            rounds.setdefault(line_of(analysis, op.site), []).append((op, _found(analysis, likeness, op)))
    twice = any(run.create_graph for run in analysis.capture.backwards)
    for found in rounds.values() if not twice else ():
        pairs = [each for _, each in found if each is not None]
        steps = analysis.timeline.steps
        apart = all(steps.places(one.index, other.index) for (one, _), (other, _) in pairwise(found))
        if len(found) > 1 and len(pairs) == len(found) and apart:
            yield pairs[0]


def _comparing(capture: Capture) -> Iterator[int]:
    called = capture.op_index.called(lambda name: is_a(name, OpKind.MEASURES) or name == _DIVERGENCE)
    return filter(capture.op_index.in_graphs.__contains__, called)


def _found(analysis: Analysis, likeness: Likeness, op: Op) -> OwnTarget | None:
    tensors = analysis.capture.tensors
    value, target = op.inputs[:2]
    if not tensors[value].requires_grad or tensors[target].requires_grad or 0 not in (op.versions or (0,))[:1]:
        return None
    one, other = (_scores(analysis, tensor, op) for tensor in (value, target))
    made, again = analysis.flow.birth(one), analysis.flow.birth(other)
    if made is None or again is None or made is again:
        return None
    if likeness.number(one, 0) != likeness.number(other, 0):
        return None
    again = _within_call(analysis, again)
    return OwnTarget(op, value, target, _within_call(analysis, made), again, _named(analysis, again))


def _within_call(analysis: Analysis, made: Op) -> Op:
    """The last op of the network behind what was computed, else that itself."""
    above = analysis.flow.upstream([(made.outputs[0], made.index + 1)])
    return next((op for op, _ in above if op.call >= 0), made)


def _named(analysis: Analysis, again: Op) -> ModelsShared | None:
    """Where the model got the name by which the target is computed."""
    call = analysis.capture.model_call_of(again)
    name = "" if call is None else callee(analysis.capture.place(call.site))
    events = analysis.capture.events_of(ModelsShared)
    return next((event for event in events if event.name == name), None) if name else None


def _scores(analysis: Analysis, tensor: int, op: Op) -> int:
    """What a network returned, before it was made a distribution."""
    made = analysis.flow.birth(tensor)
    while made is not None and made.inputs and not made.writes:
        divergence = op.name == _DIVERGENCE and is_a(made.name, _DISTRIBUTIONS)
        if not (divergence or is_a(made.name, _ALIKE)):
            break
        tensor = made.inputs[0]
        made = analysis.flow.birth(tensor)
    return tensor
