"""Gradients that the loss of one network leaves in another one that it runs through."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Contribution, GradientSources
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op


class Left(Struct, frozen=True):
    """``foreign`` was for ``other``, a step of another optimizer; ``step`` uses its gradients with those of ``own``.

    ``entered``: where the parameters' result went into the network of ``other``, which ``own`` only runs through.
    """

    step: Step
    foreign: Contribution
    other: Step
    own: Contribution
    entered: Op | None = None


def losses_through_others(analysis: Analysis, sources: GradientSources) -> Iterator[tuple[Left, list[int]]]:
    """What was found, and the parameters that step with the sum: the first step for each line whose gradients are left."""
    told: set[int] = set()
    for step in analysis.capture.steps:
        sums: dict[tuple[int, int], tuple[Contribution, Contribution, list[int]]] = {}
        for consumed in () if step.computed or step.error else sources.of(step):
            if consumed.beginning == "older":
                continue  # Nothing is ever cleared: that is told by itself.
            for foreign in consumed.contributions[:-1]:
                own = consumed.contributions[-1]
                key = foreign.run.index, own.run.index
                sums.setdefault(key, (foreign, own, []))[2].append(consumed.tensor)
        for foreign, own, tensors in sums.values():
            left = None if foreign.run.site in told else _left(analysis, sources, step, foreign, own)
            if left is not None:
                told.add(foreign.run.site)
                yield left, tensors


def _left(
    analysis: Analysis, sources: GradientSources, step: Step, foreign: Contribution, own: Contribution
) -> Left | None:
    if foreign.run.site == own.run.site:
        return None
    held = {parameter.tensor for parameter in step.parameters}
    for other in analysis.timeline.steps.within(foreign.end, own.start):
        theirs = {p.tensor for p in other.parameters if p.gradient >= 0 and p.tensor in foreign.run.reached}
        if (
            other.optimizer != step.optimizer
            and theirs
            and theirs.isdisjoint(held)
            and theirs.isdisjoint(own.run.reached)
            and sources.uses(other, foreign.run, theirs)
        ):
            if _runs_through(analysis, foreign.run, held, theirs):
                return Left(step, foreign, other, own)
            if _runs_through(analysis, own.run, theirs, held):
                return Left(step, foreign, other, own, _entered(analysis, foreign.run, theirs, held))
    return None


def _runs_through(analysis: Analysis, run: Backward, held: set[int], theirs: set[int]) -> bool:
    """Whether an op of the run's graph computed with one of the first parameters and with what came from the others.

    The other way round it would be a network of both, an encoder say, and the other parameters those of its head: but
    for a network that is frozen where the encoder has a loss of its own, a discriminator.
    """
    return _entered(analysis, run, held, theirs) is not None


def _entered(analysis: Analysis, run: Backward, held: set[int], theirs: set[int]) -> Op | None:
    """The first op that computed with one of the first parameters and with what came from the others."""
    ops = analysis.capture.ops
    entering = (
        ops[node.op]
        for node in analysis.nodes_of(run)
        if node.op >= 0
        and not held.isdisjoint(ops[node.op].inputs)
        and not theirs.isdisjoint(analysis.leaves_below(node))
    )
    return min(entering, key=lambda op: op.index, default=None)
