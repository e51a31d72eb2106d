"""Gradients that were computed at several values of the same parameters, and added up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.driven import Driven, driven_by
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.analysis.gradients.turned import sign_of
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait


def evaluated_at_several(analysis: Analysis, sources: GradientSources) -> dict[int, tuple[Step, list[Consumed]]]:
    """Optimizer -> its first step whose closure adds to what the evaluation before has left, and these gradients."""
    found: dict[int, tuple[Step, list[Consumed]]] = {}
    for step in analysis.capture.steps:
        if step.computed and not step.error and step.optimizer not in found:
            added = [each for each in sources.of(step) if _evaluated_twice(sources, each)]
            if added:
                found[step.optimizer] = step, added
    return found


def _evaluated_twice(sources: GradientSources, consumed: Consumed) -> bool:
    """Whether contributions that the step itself asked for were computed at several values."""
    tensor, start = consumed.tensor, consumed.step.start
    values = [sources.value_at(each, tensor) for each in consumed.contributions if each.start >= start]
    return len({value.version for value in values if value is not None}) > 1


def added_at_new_points(analysis: Analysis, sources: GradientSources) -> Iterator[tuple[Pair, list[int], bool]]:
    """(two contributions, the parameters that the first has moved in between, whether these are all of the step).

    The first time for each line at which the second is added.
    """
    reported: set[int] = set()
    for step in analysis.capture.steps:
        met = [] if step.computed or step.error else list(sources.of(step))
        for pair in _pairs(analysis, met):
            site = pair.second.run.site
            moved = [] if site in reported else _moved(analysis, sources, pair)
            if moved:
                reported.add(site)
                yield pair, moved, len(moved) == len(met)


class Pair(Struct, frozen=True):
    """Two contributions that follow one another, to the gradients of ``tensors``."""

    step: Step
    first: Contribution
    second: Contribution
    tensors: tuple[int, ...]


def _pairs(analysis: Analysis, met: list[Consumed]) -> Iterator[Pair]:
    """Those between which something other than an optimizer wrote a parameter."""
    pairs: dict[tuple[int, int], Pair] = {}
    for each in met:
        for first, second in pairwise(each.contributions):
            key = first.run.index, second.run.index
            if key in pairs or _written(analysis, each.tensor, first.end, second.start):
                before = pairs[key].tensors if key in pairs else ()
                pairs[key] = Pair(each.step, first, second, (*before, each.tensor))
    yield from pairs.values()


def _written(analysis: Analysis, tensor: int, start: int, end: int) -> bool:
    storage = analysis.capture.tensors[tensor].storage
    return any(not op.has(Trait.STEP) for op, _ in analysis.writes_to(storage, tensor, start, end))


def _moved(analysis: Analysis, sources: GradientSources, pair: Pair) -> list[int]:
    """The parameters that were moved by gradients between the two, and not put back before they were read again."""
    driven = driven_by(analysis, pair.tensors, pair.first.end, pair.second.start)
    records = analysis.capture.tensors
    moved = []
    for tensor in pair.tensors:
        before, after = sources.value_at(pair.first, tensor), sources.value_at(pair.second, tensor)
        ops = driven.storages.get(records[tensor].storage, ())
        if before is not None and after is not None and _stands([op for op in ops if before.op < op.index < after.op]):
            moved.append(tensor)
    return moved


def _stands(ops: list[Op]) -> bool:
    """Whether what the first of some writes did is still there after the last: no later one takes it back."""
    taken_back = (assigns(op) or is_a(op.name, OpKind.COPIES_INTO) or _reads_alike(ops[0], op) for op in ops[1:])
    return bool(ops) and not any(taken_back)


def _reads_alike(one: Op, other: Op) -> bool:
    """Whether two writes read some tensor beside the one that they write: `p.add_(e)`, `p.sub_(e)`."""
    written = {write.tensor for write in (*one.writes, *other.writes)}
    return not {*one.inputs}.intersection(other.inputs) <= written


def descends(analysis: Analysis, moving: Driven, writes: list[Op], pair: Pair) -> bool:
    """Whether each write went down the first gradients, as a step of the training does."""
    return all(sign_of(analysis, op, moving.tensors, pair.first.end) < 0 for op in writes)
