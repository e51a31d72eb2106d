"""AG205: a gradient that a hook solves for, by differentiating, and does not return."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.unreturned_solutions import unreturned_solutions
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import ReturnIt
from autograd_inspector.model.wording import summarize_names


def not_returned(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each hook: the adjoint equation of a fixed point, solved for nobody."""
    for found in unreturned_solutions(analysis):
        names = names_of(analysis, dict.fromkeys(hook.tensor for hook in found.hooks))
        function = short_name(found.ends.name)
        yield Problem(
            "warning",
            f"the hook `{function}` computes a new gradient of {summarize_names(names)} with autograd.grad and returns nothing: backward "
            f"continues with the gradient that `{function}` was given",
            "Return the new gradient from the hook: `return new_grad`.",
            analysis.places(
                (found.ends, "the hook ends here, without a return"),
                (found.solved, "new gradient computed here"),
                (found.asked, "differentiated here"),
                (found.hooks[-1], "hook registered here"),
            ),
            (function, *names),
            ops=(found.solved.index,),
            cures=at_line(analysis, found.ends.site, ReturnIt),
        )
