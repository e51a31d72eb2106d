"""AG406: gradients that are set to zero, so that the parameters stay, and that a step moves all the same."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.optimizers.moved_with_zeros import MovedWithZeros, moved_with_zeros
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.model.wording import agree, counted, summarize_names


def zeros_for_frozen(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer and line."""
    for found in moved_with_zeros(analysis):
        names = names_of(analysis, found.tensors)
        group = found.optimizer.groups
        decays = any(each.get("weight_decay") for each in group)
        drives = " and ".join(["averages of earlier gradients"] * found.averages + ["weight decay"] * decays)
        yield Problem(
            "warning",
            f"the program sets the {agree(names, 'gradient', 'gradients')} of {summarize_names(names)} to zero, and "
            f"{counted(len(found.steps), 'step')} of {found.optimizer.type} {agree(found.steps, 'moves', 'move')} "
            f"{agree(names, 'it', 'them')} all the same, by {drives}: zeros are a gradient",
            "Set the gradient to None instead: `p.grad = None`. step() then skips the parameter.",
            analysis.places((found.zeroed, "set to zero here"), (found.steps[-1], "moved here")),
            (*names, found.optimizer.type),
            ops=(found.zeroed.index, found.steps[-1].op),
            cures=tuple(_none_instead(analysis, found)),
        )


def _none_instead(analysis: Analysis, found: MovedWithZeros) -> Iterator[Remedies]:
    place = analysis.capture.place(found.zeroed.site)
    gradient = called_on(place, found.zeroed.name)
    if place is not None and gradient.endswith(".grad"):
        yield (Insert(place, f"{gradient} = None", "behind"),)
