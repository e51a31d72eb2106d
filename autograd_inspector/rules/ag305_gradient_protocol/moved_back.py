"""AG305: weights that come back from a perturbation by what the gradients at the new point give."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.moved_back import moved_back
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def taken_back_otherwise(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each pair of lines."""
    for found in moved_back(analysis):
        names = names_of(analysis, found.parameters)
        yield Problem(
            "warning",
            f"`{found.out.name}` moves {summarize_names(names)} along the gradients, and `{found.back.name}` moves "
            f"{agree(names, 'it', 'them')} back by a value computed from the .grad of the second backward(): the two differ, so "
            "the weights do not return to where they were",
            f"Keep what `{found.out.name}` is given, and pass the same tensors to `{found.back.name}`, or restore a copy of "
            "the weights.",
            analysis.places(
                (found.back, "moved back by another value here"),
                (found.again, "computed from the new gradients here"),
                (found.out, "moved here"),
                (found.run, "gradients overwritten by this backward"),
                (found.step, "step() called here"),
            ),
            (*names, found.out.name, found.back.name),
            ops=(found.out.index, found.back.index),
        )
