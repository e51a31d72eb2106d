"""AG305: zeros that zero_grad() leaves, with which a step moves what no loss reached."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.moved_by_momentum import moved_by_momentum
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.wording import agree, counted, summarize_names


def carried_on(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer."""
    for found in moved_by_momentum(analysis):
        names = names_of(analysis, found.tensors)
        count = len(found.steps)
        place = analysis.user_frames(found.zeroed.site, "")[:1]
        yield Problem(
            "warning",
            f"{counted(count, 'step')} of {found.optimizer.type} {agree(found.steps, 'moves', 'move')} {summarize_names(names)} "
            f"although no loss reached {agree(names, 'it', 'them')}: zero_grad() left zeros in .grad (set_to_none=False), and "
            "the optimizer applies its averages of earlier gradients",
            "Let zero_grad() set the gradients to None, which is its default: leave out `set_to_none=False`. step() then skips "
            "what has no gradient.",
            analysis.places((found.zeroed, "zeros left here"), (found.steps[0], "moved here without a loss")),
            (*names, "set_to_none"),
            ops=(found.zeroed.index, found.steps[0].op),
            cures=tuple((SetArgument(at, "zero_grad", "set_to_none", ""),) for at in place),
        )
