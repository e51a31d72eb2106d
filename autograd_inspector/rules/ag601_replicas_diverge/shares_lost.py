"""AG601 where a plain collective in the forward leaves the other ranks out of the gradient."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.forward_exchanges import shares_lost as found_lost
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def shares_lost(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that calls one."""
    for found in found_lost(analysis.capture, analysis.reductions):
        names, call = names_of(analysis, found.tensors), found.call.name
        yield Problem(
            "warning",
            f"{call} collects values of the forward from {found.call.world} ranks, which are then summed, and autograd does not record "
            f"it: backward() treats the sum as a constant, so the gradients of {summarize_names(names)} omit how this rank's data "
            "changes it"
            if found.gathered
            else f"{call} sums a value of the forward over {found.call.world} ranks, and autograd does not record it: backward() treats "
            f"the sum as a value of this rank only, so the gradients of {summarize_names(names)} omit how this rank's data changes "
            "the losses of the other ranks",
            f"Use the version with a gradient: `parts = torch.distributed.nn.functional.{call}(x)`. If the values should be constants, "
            "call `.detach()` before."
            if found.gathered
            else f"Use the version with a gradient: `x = torch.distributed.nn.functional.{call}(x)`. If the value should be a constant, call `.detach()` before.",
            analysis.places((found.call, f"{call} called here"), (found.run, "backward() called here")),
            tuple(names),
            ops=(found.call.at,),
        )
