"""Losses of how far a model is from a reference that the model computes itself: the difference is zero in each round.

Unlike a comparison that is at its minimum, such a loss has a gradient: `-log(sigmoid(new - old))` pushes the model away from
where it is, and nothing holds it there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.likeness import Likeness
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import ModuleCall, Op

_MOST = 64
"""Ops between a loss and the differences that it is made of."""
_STRAIGHT = (
    OpKind.VIEWS | OpKind.CONVERTS | OpKind.STACKS | OpKind.CONCATENATES | OpKind.COPIES | OpKind.RESHAPES
    | OpKind.ADDS | OpKind.SUBTRACTS | OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.NEGATES | OpKind.REDUCES
)  # fmt: skip
"""Of a difference of which only such are computed it does not matter for the gradient what was subtracted."""


class OwnReference(Struct, frozen=True):
    """All of a loss is computed from ``compared``: what ``made`` computed, less the same that ``again`` computed."""

    compared: Op
    made: Op
    again: Op
    model: ModuleCall


def own_references(analysis: Analysis) -> Iterator[OwnReference]:
    """One for each line that subtracts, where each loss since the first step is made of such differences alone.

    A ratio of a new policy to an old one is one in the first step on a batch by right, and weighs an advantage. A loss of
    the difference alone is the same number for any batch.
    """
    likeness = Likeness(analysis)
    rounds: dict[object, list[tuple[Op, OwnReference | None]]] = {}
    for run in analysis.capture.completed_runs:
        if run.api != "backward" or run.nested_in >= 0 or run.create_graph:
            continue
        for op in _differences(analysis, run):
            rounds.setdefault(line_of(analysis, op.site), []).append((op, _found(analysis, likeness, op)))
    for found in rounds.values():
        same = [each for _, each in found if each is not None]
        steps = analysis.timeline.steps
        apart = all(steps.places(one.index, other.index) for (one, _), (other, _) in pairwise(found))
        if len(found) > 1 and len(same) == len(found) and apart:
            yield same[0]


def _differences(analysis: Analysis, run: Backward) -> list[Op]:
    """The subtractions that a loss is made of, of a value with a graph and one without; [] where other values go in."""
    capture = analysis.capture
    todo, differences, seen, curved = list(run.roots), dict[int, Op](), set[int](), False
    while todo:
        made = analysis.flow.birth(todo.pop())
        if made is None or len(seen) > _MOST:
            return []
        if made.index in seen:
            continue
        seen.add(made.index)
        if (
            is_a(made.name, OpKind.SUBTRACTS)
            and [capture.tensors[t].requires_grad for t in made.inputs].count(False) == 1
        ):
            differences[made.index] = made
            continue
        if made.call >= 0 or not made.inputs:
            return []
        curved = curved or not is_a(made.name, _STRAIGHT)
        todo += made.inputs
    return [*differences.values()] if curved else []


def _found(analysis: Analysis, likeness: Likeness, op: Op) -> OwnReference | None:
    value, reference = sorted(op.inputs[:2], key=lambda t: not analysis.capture.tensors[t].requires_grad)
    made, again = _by_model(analysis, value), _by_model(analysis, reference)
    if made is None or again is None or made is again:
        return None
    first = min(made.index, again.index)
    begin = max((run.end for run in analysis.capture.completed_runs if run.end <= first), default=0)
    likeness.through(begin, op.index)
    if likeness.number(value, 0) != likeness.number(reference, 0):
        return None
    model = analysis.capture.model_call_of(again)
    return None if model is None else OwnReference(op, made, again, model)


def _by_model(analysis: Analysis, tensor: int) -> Op | None:
    """The last op of a model behind a value."""
    above = analysis.flow.upstream([(tensor, len(analysis.capture.ops))])
    return next((op for op, _ in above if op.call >= 0), None)
