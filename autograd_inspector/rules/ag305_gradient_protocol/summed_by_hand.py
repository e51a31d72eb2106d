"""AG305 where the program adds to ``.grad`` itself, on top of what the step before has used: a server of clients.

No backward runs through these parameters, so that nothing but the sum itself tells: the gradient of the last step stands
in it, as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.protocol import cleared_after, optimizer_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.summed_by_hand import sums_over_steps
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def summed_by_hand(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that steps."""
    for step, added in sums_over_steps(analysis):
        names = [name_of(analysis, tensor) for tensor in added]
        yield Problem(
            "warning",
            f"{summarize_names(names)} still had the .grad of the previous step when the program added to it, and nothing cleared "
            "it: gradients add up from step to step",
            f"Call `{optimizer_name(analysis, step)}.zero_grad()` right after step().",
            analysis.places(
                (next(iter(added.values())), "added to old gradients here"), (step, "step() uses the sum here")
            ),
            tuple(names),
            ops=(step.op,),
            cures=tuple(cleared_after(analysis, step)),
        )
