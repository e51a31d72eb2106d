"""AG306 where a hook on a result never runs: it is registered after backward(), or the result is used for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.idle_hooks import late_hooks, unread_hooks
from autograd_inspector.model.finding import Problem


def after_backward(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that registers such a hook."""
    for found in late_hooks(analysis):
        name, hook = name_of(analysis, found.hook.tensor), short_name(found.hook.name)
        yield Problem(
            "warning",
            f"the hook {hook} is registered on {name} after backward(): the hook never runs, and backward() has computed the gradients "
            "without it",
            f"Register the hook on {name} before backward().",
            analysis.places((found.hook, "hook registered here"), (found.run, "backward called here, before")),
            (name, hook),
        )


def on_what_nobody_reads(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that registers such a hook."""
    for found in unread_hooks(analysis):
        name, hook = name_of(analysis, found.parameter), short_name(found.hook.name)
        yield Problem(
            "warning",
            f"the hook {hook} is on a new tensor that `{found.made.name}` returns for {name}, and the loss does not use that tensor: the "
            f"hook never runs, and {name} gets its gradient without it",
            f"Register the hook on {name} itself.",
            analysis.places(
                (found.hook, "hook registered here"),
                (found.made, "new tensor made here"),
                (found.run, "backward called here"),
            ),
            (name, hook),
            ops=(found.made.index,),
        )
