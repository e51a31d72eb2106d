"""AG306 where compiled code does not know of a hook: it was compiled before the hook was registered."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.compiled_without import compiled_without
from autograd_inspector.model.display_names import unwrapped
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Insert


def compiled_before(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each hook."""
    for found in compiled_without(analysis):
        hook, module, code = short_name(found.hook.hook), unwrapped(found.hook.path), found.after.function
        yield Problem(
            "warning",
            f"the forward hook {hook} on {module} never runs: {code} was compiled before the hook was registered, and "
            "torch.compile does not check a module's hooks in later calls, so output and gradients are those without the hook",
            f"Register the hook before the first call of the compiled {code}, or call `torch.compiler.reset()` after it is "
            "registered: then the next call is compiled again, with the hook.",
            analysis.places(
                (found.hook, "hook registered here"),
                (found.before, "compiled code runs here, without the hook"),
                (found.after, "the same compiled code runs here"),
            ),
            (module, hook, code),
            cures=tuple(
                (Insert(place, "torch.compiler.reset()", where="behind"),)
                for place in analysis.user_frames(found.hook.site, "")[:1]
            ),
        )
