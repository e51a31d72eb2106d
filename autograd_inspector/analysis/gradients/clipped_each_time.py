"""Gradients that are clipped after each of the backwards that one step is to use together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.clipping_sites import clipping_sites
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead, Step


def clipped_with_each_backward(analysis: Analysis) -> Iterable[tuple[GradRead, Backward, Step, list[int]]]:
    """(the second clipping, the backward before it, the step, the parameters) for each line that clips."""
    sites = clipping_sites(analysis)
    reads: dict[tuple[tuple[str, int], int], list[GradRead]] = {}
    for read in analysis.capture.grad_reads:
        if read.site in sites and read.gradient >= 0 and read.clips > 0:
            reads.setdefault((sites[read.site], read.tensor), []).append(read)
    found: dict[tuple[str, int], tuple[GradRead, Backward, Step, list[int]]] = {}
    for (line, tensor), own in reads.items():
        for first, second in pairwise(own):
            run = _added_between(analysis, tensor, first, second)
            step = next((s for s in analysis.timeline.steps.since(second.at) if tensor in s.held), None)
            if run is not None and step is not None:
                found.setdefault(line, (second, run, step, []))[3].append(tensor)
                break
    return found.values()


def _added_between(analysis: Analysis, tensor: int, first: GradRead, second: GradRead) -> Backward | None:
    """The backward that added to what was clipped before; None where a step, or a clearing, came in between."""
    # What clips runs ops behind its reads: a backward at their index came before them.
    runs = analysis.timeline.backwards_to(tensor).within(first.at + 1, second.at)
    run = next((run for run in runs if tensor in analysis.timeline.stale(run)), None)
    if run is None or any(tensor in step.held for step in analysis.timeline.steps.within(first.at, second.at)):
        return None
    if clearings(analysis, (tensor,), first.at, second.at):
        return None
    return None if zeroed_in_place(analysis, [first.gradient], first.at, second.at) is not None else run
