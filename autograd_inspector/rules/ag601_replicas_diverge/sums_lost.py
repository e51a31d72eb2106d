"""AG601 where ranks exchange copies of weights or gradients, and nothing uses the results."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.lost_copies import LostCopies, lost_copies
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def sums_lost(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in lost_copies(analysis.capture, analysis.reductions):
        names = names_of(analysis, found.tensors)
        message, fix = _told(found, names)
        what = "copies summed here" if found.step is not None else "received here"
        yield Problem(
            "warning",
            message,
            fix,
            analysis.places((found.event, what), (found.step, "step() called here")),
            tuple(names),
            ops=(found.event.at,),
        )


def _told(found: LostCopies, names: list[str]) -> tuple[str, str]:
    """(the message, the fix)."""
    call, whose = found.event.name, summarize_names(names)
    if found.of == "received":
        return (
            f"{call} receives into copies of {whose}, and nothing uses the copies: "
            f"{agree(names, 'the weight keeps its value', 'the weights keep their values')}",
            f"Receive into the weight itself: give {call} `p.data`. Or copy the result into it, under torch.no_grad(): "
            "`p.copy_(received)`.",
        )
    if found.of == "gradients":
        return (
            f"{call} sums copies of the {agree(names, 'gradient', 'gradients')} of {whose} over the ranks, and nothing uses the sums: "
            "step() uses what this rank assigned to .grad",
            f"Assign the average: `p.grad = average`. Or call it on the gradient itself: `dist.{call}(p.grad)`.",
        )
    return (
        f"{call} sums copies of {whose} over the ranks, and nothing uses the sums: "
        f"{agree(names, 'the weight keeps its value', 'the weights keep their values')}, which each rank trains by itself",
        "Write the averages back on every rank, under torch.no_grad(): `p.copy_(average)`. Or call it on the weight itself: "
        f"`dist.{call}(p.data)`.",
    )
