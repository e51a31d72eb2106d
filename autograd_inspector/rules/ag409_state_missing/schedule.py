"""AG409 where the optimizer continues and its schedule begins anew."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.restarted_schedules import restarted_schedules
from autograd_inspector.model.finding import Problem


def begins_anew(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer."""
    for found in restarted_schedules(analysis):
        kind, optimizer = (found.saved or found.made).type, found.loaded.type
        beside = "was saved beside it and is not loaded" if found.saved is not None else "is not loaded"
        yield Problem(
            "warning" if found.saved is not None else "info",
            f"{optimizer} continues with its saved state, but its schedule starts again at epoch 0: the state of {kind} {beside}, "
            "and its next step() sets the lr of epoch 1",
            "Also load the state of the scheduler: `scheduler.load_state_dict(...)`. If a new schedule is intended, nothing "
            "needs to change.",
            analysis.places(
                (found.loaded, "optimizer loaded here, without its scheduler"),
                (found.saved, "scheduler saved here"),
                (found.made, "scheduler created here"),
                (found.stepped, "schedule starts again here"),
            ),
            (kind, optimizer, "lr"),
            ops=(found.step.op,),
        )
