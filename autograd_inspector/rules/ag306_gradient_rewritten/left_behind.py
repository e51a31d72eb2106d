"""AG306 where a hook stays on a parameter that was replaced: it never runs."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.hooks_left_behind import hooks_left_behind
from autograd_inspector.model.finding import Problem


def on_the_old_parameter(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each parameter that was replaced."""
    for found in hooks_left_behind(analysis):
        name, hook = name_of(analysis, found.replaced.tensor), short_name(found.hook.name)
        yield Problem(
            "warning",
            f"the hook {hook} is on the tensor that {name} was before it was replaced: the hook never runs, and {name} gets its gradient "
            "without it",
            f"Register the hook after {name} is replaced, or keep the Parameter and change its values: `copy_()` under torch.no_grad().",
            analysis.places((found.replaced, "replaced here"), (found.hook, "hook registered here, before")),
            (name, hook),
        )
