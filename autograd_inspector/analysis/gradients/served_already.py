"""Gradients that have served, are still there for the next loss in some rounds, and are not in other rounds.

A line that steps is given the gradients of one loss in some rounds; in others those of an earlier loss as well, which
another optimizer has used by then, or from which the program has computed what it keeps, or what the next loss reads: an
estimate of the curvature.
A term that is added in some rounds only (a lazy regulariser) serves nothing before the step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_COPIED = OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS
_DEEPEST = 6


class Served(Struct, frozen=True):
    """``step`` uses the sum of ``left`` and ``own`` for ``tensors``; ``by`` is what had used ``left`` before."""

    step: Step
    left: Contribution
    own: Contribution
    tensors: tuple[int, ...]
    by: Step | Op


def served_already(analysis: Analysis, sources: GradientSources) -> Iterator[Served]:
    """One for each line whose gradients are left."""
    kept = _Kept(analysis)
    told: set[int] = set()
    for members in _by_line(analysis):
        met = [(step, [each for each in sources.of(step) if each.contributions]) for step in members]
        alone = {(c.tensor, c.contributions[0].run.site) for _, consumed in met for c in consumed if _of_one(c)}
        for step, consumed in met:
            pairs: dict[tuple[int, int], list[Consumed]] = defaultdict(list)
            for each in consumed:
                own = each.contributions[-1]
                for left in each.contributions[:-1]:
                    if left.run.site != own.run.site and (each.tensor, own.run.site) in alone and _fresh(each):
                        pairs[left.run.index, own.run.index].append(each)
            for (number, _), mine in pairs.items():
                own = mine[0].contributions[-1]
                left = next(c for c in mine[0].contributions if c.run.index == number)
                by = None if left.run.site in told else kept.used(step, left, own, [each.tensor for each in mine])
                if by is not None:
                    told.add(left.run.site)
                    yield Served(step, left, own, tuple(each.tensor for each in mine), by)


def _by_line(analysis: Analysis) -> Iterator[list[Step]]:
    by_line: dict[tuple[int, int], list[Step]] = defaultdict(list)
    for step in analysis.capture.steps:
        if not step.error and not step.computed:
            by_line[step.site, step.optimizer].append(step)
    return (steps for steps in by_line.values() if len(steps) > 1)


def _of_one(consumed: Consumed) -> bool:
    return _fresh(consumed) and len({each.run.site for each in consumed.contributions}) == 1


def _fresh(consumed: Consumed) -> bool:
    return consumed.beginning in {"empty", "cleared"}


class _Kept:
    """What a gradient has been used for."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def used(self, step: Step, left: Contribution, own: Contribution, tensors: list[int]) -> Step | Op | None:
        """Another optimizer's step, or an op of whose result something is kept or read by the next loss, between the two."""
        held = {parameter.tensor for parameter in step.parameters}
        for other in self._analysis.timeline.steps.within(left.end, own.start):
            theirs = {p.tensor for p in other.parameters if p.gradient >= 0 and p.tensor in left.run.reached}
            if other.optimizer != step.optimizer and theirs and theirs.isdisjoint(held):
                return other
        gradients = set().union(*(self._analysis.gradients.get(tensor, ()) for tensor in tensors))
        graph = frozenset(node.op for node in self._analysis.nodes_of(own.run))
        for op in self._analysis.capture.ops[left.end : own.start]:
            if gradients.isdisjoint(op.inputs) or _modifies(op, gradients):
                continue
            if is_a(op.name, _COPIED):
                gradients.update(op.outputs)
            elif op.index in graph or self._lasts(op, step.at, graph):
                return op
        return None

    def _lasts(self, op: Op, until: int, graph: frozenset[int], depth: int = 0) -> bool:
        """Whether numbers of the same shape, computed from its operands, are kept in state, or read in a graph."""
        capture = self._analysis.capture
        if op.has(Trait.STEP | Trait.EXPORT) or depth > _DEEPEST or is_a(op.name, OpKind.COMPARES | OpKind.ORDERS):
            return False
        shapes = {capture.tensors[tensor].shape for tensor in op.inputs}
        made = [tensor for tensor in op.outputs if capture.tensors[tensor].shape in shapes and shapes != {()}]
        made += [write.tensor for write in op.writes]
        if not is_a(op.name, _COPIED) and any(capture.tensors[tensor].storage in self._state for tensor in made):
            return True
        readers = (capture.ops[at] for t in op.outputs if t in made for at in capture.readers.get(t, ()))
        return any(
            op.index < reader.index < until and (reader.index in graph or self._lasts(reader, until, graph, depth + 1))
            for reader in readers
        )

    @cached_property
    def _state(self) -> frozenset[int]:
        rows = self._analysis.capture.placement.rows
        return frozenset(entry.storage for row in rows for entry in row.state) - {-1}


def _modifies(op: Op, gradients: set[int]) -> bool:
    return any(write.tensor in gradients for write in op.writes)
