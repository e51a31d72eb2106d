"""A `.grad` that the program keeps by reference, and that a later backward then changes under it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.overwritten_references import overwritten_references
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand
from autograd_inspector.model.wording import summarize_names


def overwritten(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that keeps such gradients."""
    for cases in overwritten_references(analysis):
        names = list(dict.fromkeys(name_of(analysis, case.read.tensor) for case in cases))
        read, run, op = cases[0].read, cases[0].run, cases[0].op
        holder = next((kept.name for kept in analysis.capture.gradients_kept if kept.site == read.site), "")
        keeps = f"`{holder}` keeps" if holder else "the program keeps"
        yield Problem(
            "warning",
            f"{keeps} the .grad tensors of {summarize_names(names)} themselves, and a later backward() writes the new gradients into the same tensors: `{op.name}` then reads the new gradients, not the old ones",
            "Keep copies: `p.grad.clone()`.",
            analysis.places(
                (read, "kept without a copy here"),
                (run, "overwritten by this backward"),
                (op, "used here as the old gradient"),
            ),
            (*names, *filter(None, (holder,))),
            cures=at_line(analysis, read.site, lambda place: Operand(place, "whole", "{}.clone()")),
        )
