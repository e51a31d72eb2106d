"""AG601 where gradients of other ranks, or of another micro-batch, are replaced before a step has used them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.overwritten_gradients import overwritten
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def gradients_overwritten(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that assigns the next gradient."""
    for found in overwritten(analysis.capture, analysis.timeline, analysis.reductions):
        names, call = names_of(analysis, found.tensors), found.call.name
        yield Problem(
            "error",
            f"{call} brings {agree(names, 'a gradient', 'gradients')} of {summarize_names(names)}, and the next assignment to .grad "
            f"replaces {agree(names, 'it', 'them')} before anything reads {agree(names, 'it', 'them')}: step() uses only the last "
            f"{agree(names, 'one', 'ones')}",
            "Add what arrives to the gradient that is there: `p.grad = new if p.grad is None else p.grad + new`. Clear the gradients "
            "after each step().",
            analysis.places(
                (found.write, "assigned again here"),
                (found.call, f"{call} called here"),
                (found.step, "step() called here"),
            ),
            tuple(names),
            ops=(found.call.at, found.step.op),
        )
