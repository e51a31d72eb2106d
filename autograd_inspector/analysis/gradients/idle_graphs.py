"""Gradients that backward(create_graph=True) gave graphs to, which nothing differentiates.

Such a graph serves what is computed of a gradient and differentiated: a penalty, a product with the Hessian, adapted
parameters. An optimizer of first order and a clipping read the values alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.graphs import below
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import DifferentiatedWithin


class IdleGraphs(Struct, frozen=True):
    """The runs of one line with create_graph=True; ``parameters`` got their gradients of the last of them."""

    runs: tuple[Backward, ...]
    parameters: tuple[int, ...]


def idle_graphs(analysis: Analysis) -> Iterator[IdleGraphs]:
    """One for each line, if two runs or more are stepped with, and no other run of the engine can come from their gradients."""
    capture = analysis.capture
    lines: dict[object, list[Backward]] = {}
    for run in capture.completed_runs if not capture.error else ():
        if run.create_graph:
            lines.setdefault(line_of(analysis, run.site), []).append(run)
    query = _Differentiated(analysis)
    for runs in lines.values():
        stepped = [run for run in runs if query.steps_follow(run)]
        if len(stepped) > 1 and len(stepped) == len(runs) and not any(map(query.may_be, runs)):
            yield IdleGraphs(tuple(runs), runs[-1].reached)


class _Differentiated:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture

    def steps_follow(self, run: Backward) -> bool:
        """Whether a step has used the gradients."""
        reached = set(run.reached)
        return any(
            step.at >= run.end and any(p.tensor in reached and p.gradient >= 0 for p in step.parameters)
            for step in self._capture.steps
        )

    def may_be(self, run: Backward) -> bool:
        """Whether another run goes through its graph once more, or the gradients of any may have come into its roots."""
        if run.graph.blind or run.graph.truncated or self._comes_from_gradients:
            return True
        mine = self._nodes(run)
        return any(other.index != run.index and not mine.isdisjoint(self._nodes(other)) for other in self._others)

    @cached_property
    def _others(self) -> tuple[Backward, ...]:
        return tuple(run for run in self._capture.backwards if run.api != "alive")

    def _nodes(self, run: Backward) -> set[int]:
        nodes = self._capture.nodes
        return {number for number in below(nodes, run.graph.roots) if nodes[number].variable < 0}

    @cached_property
    def _comes_from_gradients(self) -> bool:
        """Whether what the engine started from, or the program still has, has a graph that began at an unknown tensor.

        Such a tensor is a gradient, wherever it is read.
        """
        starts = [(root, run.start) for run in self._others for root in run.roots]
        if self._capture.events_of(DifferentiatedWithin):
            return True  # By an optimizer of second order, say.
        if self._keeps_gradients or any(self._has_unknown_graph(tensor) for tensor, _ in starts):
            return True
        starts += [(tensor, len(self._capture.ops)) for tensor in self._capture.alive]
        above = self._analysis.flow.upstream(starts, lambda op, _: _keeps_graph(op))
        return any(self._has_unknown_graph(read) for op, _ in above if _keeps_graph(op) for read in op.inputs)

    @property
    def _keeps_gradients(self) -> bool:
        """Whether the program has gradients of earlier steps: not those that the parameters have now."""
        now = {p.tensor: p.gradient for step in self._capture.steps for p in step.parameters if p.gradient >= 0}
        return any(self._has_unknown_graph(kept) for kept in {*self._capture.alive}.difference(now.values()))

    def _has_unknown_graph(self, tensor: int) -> bool:
        record = self._capture.tensors[tensor]
        return record.requires_grad and not record.leaf and record.birth < 0


def _keeps_graph(op: Op) -> bool:
    return op.recorded
