"""AG305: gradients that are clipped after each of the backwards that one step is to use together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import brought_forward
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.clipping_sites import clipping_sites
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead, Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def clipped_each_time(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that clips: what it clips is the sum so far, and the next backward adds to that."""
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
    for read, run, step, tensors in found.values():
        names = names_of(analysis, tensors)
        yield Problem(
            "warning",
            f"the gradients of {summarize_names(names)} are clipped after each of several backward() calls that belong to one "
            "step(): each time the sum so far is scaled down, and the last backward() counts most",
            "Clip once, after the last backward() and right before step().",
            analysis.places(
                (read, "clipped each time here"),
                (run, "next backward() adds to it here"),
                (step, "step() uses the sum here"),
            ),
            tuple(names),
            cures=tuple(brought_forward(analysis, read.site, step.site)),
        )


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
