"""Gradients that the loss of a learned weight leaves in what it weighs: the temperature of an actor, a multiplier."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op


class Weighed(Struct, frozen=True):
    """``step`` used ``foreign``'s gradients too, of a loss in which ``product`` multiplies by ``weights``.

    ``other`` stepped these weights with that loss; ``factor`` is the other operand, with its graph.
    """

    step: Step
    foreign: Contribution
    other: Step
    weights: tuple[int, ...]
    product: Op
    factor: int


def weighed_losses(analysis: Analysis, sources: GradientSources) -> Iterator[tuple[Weighed, list[int]]]:
    """What was found, and the parameters that step with the sum: the first step for each line whose gradients are left."""
    told: set[int] = set()
    for step in analysis.capture.steps:
        found: dict[int, tuple[Weighed, list[int]]] = {}
        for consumed in () if step.computed or step.error else sources.of(step):
            for weighed in _weighed(analysis, sources, step, consumed):
                if weighed.foreign.run.site not in told:
                    found.setdefault(weighed.foreign.run.index, (weighed, []))[1].append(consumed.tensor)
        for weighed, tensors in found.values():
            told.add(weighed.foreign.run.site)
            yield weighed, tensors


def _weighed(analysis: Analysis, sources: GradientSources, step: Step, consumed: Consumed) -> Iterator[Weighed]:
    held = {parameter.tensor for parameter in step.parameters}
    sites = {each.run.site for each in consumed.contributions}
    for foreign in consumed.contributions if len(sites) > 1 else ():
        for other in _next_of_each(analysis, foreign.end, step.optimizer):
            weights = _weights(analysis, other, foreign)
            if (
                weights
                and held.isdisjoint(weights)
                and all(
                    weights.isdisjoint(each.run.reached)
                    for each in consumed.contributions
                    if each.run.site != foreign.run.site
                )
                and sources.uses(other, foreign.run, weights)
            ):
                product = _product(analysis, foreign, weights, consumed.tensor)
                if product is not None:
                    yield Weighed(step, foreign, other, tuple(sorted(weights)), *product)


def _next_of_each(analysis: Analysis, start: int, optimizer: int) -> Iterator[Step]:
    """The next step of each other optimizer."""
    met = {optimizer}
    others = len(analysis.capture.placement.optimizers)
    for step in analysis.timeline.steps.since(start):
        if step.optimizer not in met:
            met.add(step.optimizer)
            yield step
        if len(met) >= others:
            return


def _weights(analysis: Analysis, other: Step, foreign: Contribution) -> set[int]:
    """The single numbers that a step met with a gradient and that the loss reaches, if it reaches nothing else of it."""
    theirs = {p.tensor for p in other.parameters if p.gradient >= 0 and p.tensor in foreign.run.reached}
    return theirs if all(prod(analysis.capture.tensors[tensor].shape) == 1 for tensor in theirs) else set()


def _product(analysis: Analysis, foreign: Contribution, weights: set[int], tensor: int) -> tuple[Op, int] | None:
    """(the op that multiplies what was computed of the weights alone, the operand behind which the parameter lies)."""
    ops = analysis.capture.ops
    for node in analysis.nodes_of(foreign.run):
        op = ops[node.op] if node.op >= 0 else None
        if op is None or not is_a(op.name, OpKind.MULTIPLIES) or len(node.edges) != 2 or len(op.inputs) != 2:
            continue
        sides = [analysis.leaves.of([child]) for child, _ in node.edges]
        for side, (weight, factor) in enumerate((sides, sides[::-1])):
            if weight and weight <= weights and tensor in factor and not weights & factor:
                return op, op.inputs[1 - side]
    return None
