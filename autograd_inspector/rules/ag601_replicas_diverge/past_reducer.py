"""AG601 where wrapped parameters are updated with gradients that ``torch.autograd.grad`` returned."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.asked_gradients import updated_past_reducer
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def asked_past_reducer(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that asks for them."""
    for found in updated_past_reducer(analysis.capture, analysis.reductions):
        names = names_of(analysis, found.tensors)
        kind = analysis.reductions.wrapper_of[found.tensors[0]].type
        yield Problem(
            "error",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} updated with {agree(names, 'a gradient', 'gradients')} from this "
            f"rank only: `torch.autograd.grad` returns {agree(names, 'it', 'them')} without accumulating, and {kind} reduces only "
            "what backward() accumulates, so the replicas diverge",
            "Call `loss.backward()` and use `p.grad`. Or call all_reduce on what `torch.autograd.grad` returns, and divide by "
            "the number of ranks.",
            analysis.places((found.op, "gradients computed here"), (found.site, "updated here")),
            tuple(names),
            ops=(found.op.index,),
        )
