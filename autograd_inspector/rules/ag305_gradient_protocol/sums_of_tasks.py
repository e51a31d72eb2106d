"""AG305 where the program combines the gradients of several losses, and reads running sums of them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import added_between
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.read_sums import read_sums
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.clearing_call import clearing_call


def sums_of_tasks(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that reads."""
    for sums in grouped(read_sums(analysis), lambda found: found.later.read.site).values():
        first = sums[0]
        names = names_of(analysis, dict.fromkeys(found.tensor for found in sums))
        clearing = clearing_call(analysis, first.step, first.later.run.start)
        before = "the first loss" if first.earlier is not None else "the previous step"
        yield Problem(
            "warning",
            f"the .grad of {summarize_names(names)} is read after each of several backward() calls, and nothing clears it "
            f"before: what is read contains the gradients of {before} as well, and step() uses a gradient combined from it",
            f"Call `{clearing}` before the backward() of each loss, or compute each loss's gradients with "
            "torch.autograd.grad(loss, parameters, retain_graph=True), which does not write to .grad.",
            analysis.places(
                (first.later.run, f"added to the gradients of {before} here"),
                (first.later.read, f"{agree(names, 'its', 'their')} sum is read here"),
                (first.step, "step() uses the combination here"),
            ),
            tuple(names),
            ops=(first.step.op,),
            cures=tuple(added_between(analysis, clearing, first.later.run.site)),
        )
