"""AG601 where gradients that are reduced already are summed over the ranks once more."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.repeated_sums import summed_again as found_again
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.wording import agree, summarize_names


def summed_again(analysis: Analysis) -> Iterator[Problem]:
    """One finding for what a wrapper has averaged, one for what was summed before more was accumulated."""
    for found in found_again(analysis.capture, analysis.reductions):
        names = names_of(analysis, found.tensors)
        call, world = found.call.name, found.call.world
        subject = f"{call} sums {agree(names, 'the gradient', 'the gradients')} of {summarize_names(names)} over {world} ranks"
        earlier: tuple[Location, ...] = ()
        if found.earlier is not None:
            earlier = analysis.user_frames(found.earlier.site, f"{found.earlier.name} called here")
            why = (
                "although an earlier call has summed part of it already, and backward() only added to that: the gradients of the "
                f"earlier micro-batches count {world} times as much as those of the last"
            )
            fix = f"Call {call} once before each step(), after the backward() of the last micro-batch."
        else:
            kind = analysis.reductions.wrapper_of[found.tensors[0]].type
            why = (
                f"although {kind} has averaged {agree(names, 'it', 'them')} already: the step is {world} times as large"
            )
            fix = (
                f"Remove the call: {kind} reduces during backward(). Or call the model inside, and reduce only by hand."
            )
        yield Problem(
            "warning",
            f"{subject}, {why}",
            fix,
            (
                *analysis.places((found.call, f"{call} called here")),
                *earlier,
                *analysis.places((found.reached.step, "step() called here")),
            ),
            tuple(names),
            ops=(found.call.at, found.reached.step.op),
        )
