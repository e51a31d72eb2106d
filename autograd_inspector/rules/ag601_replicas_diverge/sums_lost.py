"""AG601 where ranks average copies of their weights, and nothing uses the averages."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import SumLost
from autograd_inspector.model.wording import agree, summarize_names


def sums_lost(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line, of weights that each rank steps with gradients of its own."""
    reached = analysis.reductions.reached if not analysis.reductions.meant else ()
    alone = {tensor: each.step for each in reversed(reached) for tensor in each.local}
    for event in analysis.capture.events_of(SumLost):
        own = [tensor for tensor in event.tensors if tensor in alone]
        if not own:
            continue
        names = names_of(analysis, own)
        yield Problem(
            "warning",
            f"{event.name} sums copies of {summarize_names(names)} over the ranks, and nothing uses the sums: "
            f"{agree(names, 'the weight keeps its value', 'the weights keep their values')}, which each rank trains by itself",
            "Write the averages back on every rank, under torch.no_grad(): `p.copy_(average)`. Or call it on the weight itself: "
            f"`dist.{event.name}(p.data)`.",
            analysis.places((event, "copies summed here"), (alone[own[0]], "step() called here")),
            tuple(names),
            ops=(event.at,),
        )
