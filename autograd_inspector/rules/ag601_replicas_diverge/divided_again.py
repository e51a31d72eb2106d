"""AG601 where the mean over the ranks is divided by the number of ranks once more."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.divisions import divided_again as found_again
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.wording import agree, summarize_names


def divided_again(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind: a hint where nobody saw the program ask for the number of ranks."""
    for found in found_again(analysis.capture, analysis.timeline, analysis.reductions):
        names, world = names_of(analysis, found.tensors), analysis.capture.world_size
        what = "the loss" if found.of_loss else agree(names, "the gradient", "the gradients")
        whose = f"{agree(names, 'the gradient', 'the gradients')} of {summarize_names(names)}"
        if isinstance(found.earlier, Op):
            why = f"although an earlier line divides by it too, so {whose} {agree(names, 'is', 'are')} divided twice"
            fix = "Divide once, the loss or the gradients."
        else:
            why = f"although {found.earlier.type} averages {whose} already"
            fix = f"Remove the division: {found.earlier.type} averages during backward()."
        if found.summed is not None:
            why += f" ({found.summed.name} on the loss sums its value, but not its gradient)"
            fix += " Reduce a `loss.detach().clone()` for logging."
        divided = "is" if found.of_loss or len(names) == 1 else "are"
        by = "the number of ranks" if found.counted else f"{world}, as many as there are ranks"
        if not found.counted:
            fix = f"Leave it where this {world} is not the number of ranks. {fix}"
        earlier = found.earlier.site if isinstance(found.earlier, Op) else -1
        yield Problem(
            "warning" if found.counted else "info",
            f"{what} {divided} divided by {by}, {why}: the step is {world} times smaller than in a single process",
            fix,
            analysis.places(
                (found.summed, "value of the loss summed here"),
                (found.by, "divided here"),
                (earlier, "divided here, too"),
                (found.step, "step() called here"),
            ),
            tuple(names),
            ops=(found.by.index, found.step.op),
        )
