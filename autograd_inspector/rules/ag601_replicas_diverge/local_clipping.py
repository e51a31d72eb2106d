"""AG601 where each rank clips its own gradients, and they are reduced behind that."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def clipped_alone(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    for reached in analysis.reductions.reached:
        by_hand = [t for t in reached.reduced if t not in analysis.reductions.wrapper_of]
        events = [
            event
            for event in analysis.reductions.exchanges.within(reached.run.end, reached.step.updates_from)
            if event.op in {"sum", "avg"}
        ]
        for tensor in by_hand if events else ():
            gradients = analysis.gradients.get(tensor, frozenset())
            reads = analysis.timeline.reads_of(tensor).within(reached.run.end, events[0].at)
            clips = [read for read in reads if 0 <= read.clips < math.inf]
            own = next((event for event in events if gradients & set(event.tensors)), events[0])
            if not clips or clips[-1].at > own.at:
                continue
            names = names_of(analysis, by_hand)
            yield Problem(
                "warning",
                f"the gradients of {summarize_names(names)} are clipped before {own.name} sums them over {own.world} ranks: "
                "each rank scales them by a different norm, so the result is neither the gradient of the whole batch nor "
                "bounded by the limit",
                f"Clip after {own.name} and after the division by the number of ranks, so that all ranks clip the same "
                "gradient.",
                analysis.places(
                    (clips[-1], "clipped here"), (own, f"{own.name} called here"), (reached.step, "step() called here")
                ),
                tuple(names),
                ops=(own.at, reached.step.op),
            )
            return
