"""The condition by which a module's mode led to an op."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import ModuleCall, Op
from autograd_inspector.model.program_events import ModeBranchRead


def chosen_by_mode(analysis: Analysis, op: Op) -> tuple[Location, ...]:
    """The line of the condition, in the function that is nearest to the op; () where no branch of one holds it."""
    events = analysis.capture.events_of(ModeBranchRead)
    frames = [frame for frame in analysis.capture.site(op.site) if not frame.library] if events else []
    for frame in frames:
        around = [event for event in events if _holds(analysis, event, frame)]
        training = _mode(analysis, op, frame) if around else None
        if training is not None:
            nearest = min(around, key=lambda event: event.ends - event.begins)
            mode = "training" if training else "eval"
            return analysis.user_frames(nearest.site, f"branch taken in {mode} mode here")[:1]
    return ()


def _holds(analysis: Analysis, event: ModeBranchRead, frame: Location) -> bool:
    place = analysis.capture.place(event.site)
    inside = place is not None and place.scope == frame.scope
    return inside and place is not None and event.begins <= frame.lineno - place.lineno <= event.ends


def _mode(analysis: Analysis, op: Op, frame: Location) -> bool | None:
    """The mode of the module whose method the frame is, as it was in that call; None where that is not known."""
    calls: list[ModuleCall] = list(analysis.capture.calls_around(op.call))
    of_class = [call for call in calls if frame.function.split(".")[-2:-1] == [call.type]]
    modes = {call.training for call in of_class[:1] or calls}
    return modes.pop() if len(modes) == 1 else None
