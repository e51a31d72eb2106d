"""AG306 where a forward hook never runs: the program computes what the module does without a call of the module."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.passed_by import passed_by
from autograd_inspector.model.display_names import unwrapped
from autograd_inspector.model.finding import Problem


def without_a_call(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that registers such a hook."""
    for found in passed_by(analysis):
        hook, module = short_name(found.hook.hook), unwrapped(found.path)
        kind = "forward pre-hook" if "pre" in found.hook.method else "forward hook"
        yield Problem(
            "warning",
            f"the {kind} {hook} on {module} never runs: the program computes the output of {module} without calling {module}",
            f"Call {module} itself: its `forward()`, a loop over its children and a function that is given its weights run no hooks.",
            analysis.places((found.ran, "computed here, without the hook"), (found.hook, "hook registered here")),
            (module, hook),
            ops=(found.ran.index,),
        )
