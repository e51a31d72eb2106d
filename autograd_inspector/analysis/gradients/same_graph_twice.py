"""Graphs that are differentiated twice from the same outputs, of which a step uses the sum."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.scaled_losses import scaled_by
from autograd_inspector.analysis.gradients.sources import Contribution, GradientSources
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step


def same_graph_twice(
    analysis: Analysis, sources: GradientSources
) -> Iterator[tuple[Step, Backward, Backward, list[int]]]:
    """(step, the two runs, the parameters), the first time for each pair of lines."""
    told: set[tuple[int, int]] = set()
    for step in analysis.capture.steps:
        twice: dict[tuple[int, int], tuple[Contribution, Contribution, list[int]]] = {}
        for consumed in () if step.error else sources.of(step):
            before: dict[tuple[tuple[int, ...], tuple[int, ...]], Contribution] = {}
            for second in consumed.contributions if len(consumed.contributions) > 1 else ():
                first = before.setdefault(_begun(analysis, second.run), second)
                if first is not second and second.run.graph.roots:
                    key = first.run.index, second.run.index
                    twice.setdefault(key, (first, second, []))[2].append(consumed.tensor)
        for first, second, tensors in twice.values():
            sites = first.run.site, second.run.site
            if sites not in told:
                told.add(sites)
                yield step, first.run, second.run, tensors


def _begun(analysis: Analysis, run: Backward) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The nodes that a run began at, and the gradients of the outputs that the program gave.

    Runs that have both in common go through one graph with the same gradient; so do those that a GradScaler's scale of
    one loss began, for each of which it is scaled anew.
    """
    scaled = scaled_by(analysis, run)
    return (scaled.inputs if scaled is not None else run.graph.roots), run.weights
