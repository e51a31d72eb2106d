"""A part of what an optimizer holds, frozen for the turn of another optimizer, and not thawed for its own.

A part that is frozen for good leaves the loss to the others. Here a term of the loss is a constant since then: the same
line computes it in a forward of the frozen modules, and has trained them before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.losses.summands import summands_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import ParameterStep, RequiresGradChanged, Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord

_FEWEST = 2
"""So many steps without them are no end of a phase."""


class FrozenForATurn(Struct, frozen=True):
    """``frozen`` froze ``tensors`` before the step ``turn`` of another optimizer.

    ``steps`` are those of ``optimizer`` since then; ``term`` computes the constant in the loss of the first of them.
    """

    optimizer: OptimizerRecord
    frozen: RequiresGradChanged
    tensors: tuple[int, ...]
    turn: Step
    steps: tuple[Step, ...]
    term: Op


def frozen_for_a_turn(analysis: Analysis) -> Iterator[FrozenForATurn]:
    """One for each optimizer and line that freezes."""
    if len({step.optimizer for step in analysis.capture.steps}) <= 1:
        return
    for optimizer in analysis.capture.placement.optimizers:
        for frozen in rest_of(analysis, optimizer, _last):
            found = _judged(analysis, optimizer, analysis.timeline.steps_of(optimizer.id).all, frozen)
            if found is not None:
                yield found


def _last(changes: Sequence[RequiresGradChanged]) -> int:
    return changes[-1].at


def rest_of(
    analysis: Analysis, optimizer: OptimizerRecord, began: Callable[[Sequence[RequiresGradChanged]], int]
) -> Iterable[list[RequiresGradChanged]]:
    """What froze parameters of an optimizer for good, while it went on stepping the others: what one line did, together.

    ``began``: since when a parameter with these changes is frozen.
    """
    steps = analysis.timeline.steps_of(optimizer.id).all
    held = dict.fromkeys(optimizer.held) if len(steps) > _FEWEST else ()
    changes = [own for tensor in held if (own := analysis.lifecycle.changes([tensor])) and not own[-1].requires_grad]
    began_at = {own[-1].tensor: began(own) for own in changes}
    rested = set(_resting(steps, began_at))
    resting = (own[-1] for own in changes if own[-1].tensor in rested)
    return grouped(resting, lambda change: change.site).values()


def _resting(steps: Sequence[Step], moments: Mapping[int, int]) -> list[int]:
    """Of parameters, each with a moment, those that steps moved before, and none since."""
    met: dict[int, list[tuple[bool, ParameterStep]]] = {tensor: [] for tensor in moments}
    for step in steps if moments else ():
        for parameter in step.parameters:
            if parameter.tensor in met:
                met[parameter.tensor].append((step.at <= moments[parameter.tensor], parameter))
    return [tensor for tensor, steps_met in met.items() if _rests(steps_met)]


def _rests(met: Sequence[tuple[bool, ParameterStep]]) -> bool:
    before, since = ([p for early, p in met if early is wanted] for wanted in (True, False))
    trained = any(p.gradient >= 0 and not p.frozen for p in before)
    return trained and len(since) >= _FEWEST and all(p.frozen and p.gradient < 0 for p in since)


def _judged(
    analysis: Analysis, optimizer: OptimizerRecord, steps: Sequence[Step], frozen: list[RequiresGradChanged]
) -> FrozenForATurn | None:
    tensors, change = frozenset(each.tensor for each in frozen), frozen[0]
    since = tuple(step for step in steps if step.at > change.at)
    before = next(step for step in reversed(steps) if step.at <= change.at)
    others = analysis.timeline.steps.within(change.at, since[0].start)
    turn = next((step for step in others if step.optimizer != optimizer.id), None)
    runs = analysis.timeline.backwards
    trained = next((run for run in runs.before(before.at + 1) if not tensors.isdisjoint(run.reached)), None)
    later = next((run for run in runs.before(since[0].at + 1) if run.start > change.at), None)
    if turn is None or trained is None or later is None or later.start < turn.at:
        return None
    term = _constant_term(analysis, tensors, trained, later)
    return None if term is None else FrozenForATurn(optimizer, change, tuple(sorted(tensors)), turn, since, term)


def _constant_term(analysis: Analysis, tensors: frozenset[int], trained: Backward, later: Backward) -> Op | None:
    """The op that computes, for the later loss, what was a term of the earlier one that trained those parameters."""
    ops = analysis.capture.ops
    terms, left = (_terms(analysis, run) for run in (trained, later))
    for key, (value, index) in terms.items():
        if key in left or not _from(analysis, tensors, value, index + 1):
            continue
        again = [op for op in ops[trained.end : later.start] if (op.site, op.name) == key and not op.recorded]
        if again:
            return again[-1]
    return None


def _terms(analysis: Analysis, run: Backward) -> dict[tuple[int, str], tuple[int, int]]:
    """(site, op) of the terms of a loss -> the tensor, and the op that made it."""
    ops = analysis.capture.ops
    found = (term for root in run.roots for term in summands_of(analysis, root, run.start))
    return {(ops[index].site, ops[index].name): (value, index) for value, index in found}


def _from(analysis: Analysis, tensors: frozenset[int], value: int, before: int) -> bool:
    """Whether it is computed by modules that have those parameters; a penalty on their size is not."""
    above = analysis.flow.upstream([(value, before)])
    return any(op.call >= 0 and not tensors.isdisjoint(op.inputs) for op, _ in above)
