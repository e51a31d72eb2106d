"""Where a forward hook returns what it has computed, which takes the place of the module's output."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ModuleHookRegistered


def returned_by_hook(analysis: Analysis, op: Op) -> tuple[Location, ...]:
    """The return statements of the forward hook that an op ran in; () where it ran in none that returns something."""
    capture = analysis.capture
    functions = {frame.function for frame in capture.site(op.site)[:1]}
    hooks = (h for h in capture.events_of(ModuleHookRegistered) if h.returns and h.hook in functions)
    hook = next(hooks, None)
    sites = hook.returns if hook is not None else ()
    return tuple(
        place
        for site in sites
        for place in analysis.user_frames(site, "returned instead of the module's output here")[:1]
    )
