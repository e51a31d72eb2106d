"""AG306: gradient reversal by a hook on a tensor that another branch has used before."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.reversed_for_all import reversed_for_all
from autograd_inspector.model.finding import Problem


def reversed_on_all_paths(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that registers such a hook."""
    for found in reversed_for_all(analysis):
        name, hook = name_of(analysis, found.hook.tensor), short_name(found.hook.name)
        yield Problem(
            "warning",
            f"the hook {hook} reverses the sign of the whole gradient of {name}: `{found.before.name}` used {name} before "
            "register_hook() was called, and the gradient from there is reversed too",
            "Register the hook on a view of the tensor, and use the view in the reversed branch only: `g = f.view_as(f)`, "
            "`g.register_hook(...)`.",
            analysis.places(
                (found.hook, "hook registered here"),
                (found.before, "used before here"),
                (found.after, "used afterwards here"),
                (found.reverses, "gradient reversed here"),
            ),
            (name, hook, "register_hook"),
            ops=(found.reverses.index,),
        )
