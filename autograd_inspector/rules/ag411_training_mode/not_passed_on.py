"""AG411: a ``train()`` of the program's own that sets the mode of the module alone, and of nothing in it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.modes_not_passed_on import NotPassedOn, modes_not_passed_on
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.remedy import Insert, Substitute
from autograd_inspector.rules.ag411_training_mode.teacher_in_train_mode import effects, layers

_NAMED = 3


def not_passed_on(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each such method."""
    for found in modes_not_passed_on(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: NotPassedOn) -> Problem:
    capture, event = analysis.capture, found.event
    if "" in event.missed:
        return _without_the_mode(analysis, found)
    name = capture.display_names.layer(ModuleCall(-1, event.path, event.type, event.model))
    call = f"super().train({event.mode})"
    return Problem(
        "warning",
        f"eval() does not reach the layers of {name}: {event.api} sets the mode of {name} and does not pass it on, and "
        f"{effects(analysis, found)}",
        f"Call `{call}` at the beginning of {event.api}: it sets the mode of all layers.",
        analysis.places((event, "sets the mode of this module only"), (found.op, "in train mode here")),
        (name, *layers(analysis, (*found.dropping, *found.counting))[:_NAMED]),
        ops=(found.op.index,),
        cures=at_line(analysis, event.site, lambda place: Insert(place, call)),
    )


def _without_the_mode(analysis: Analysis, found: NotPassedOn) -> Problem:
    """The method of the base class takes the mode that it is not given for True."""
    event = found.event
    name = analysis.capture.display_names.layer(ModuleCall(-1, event.path, event.type, event.model))
    call = f"super().train({event.mode or 'mode'})"
    return Problem(
        "warning",
        f"eval() leaves {name} in train mode: {event.api} calls the method of its base class without the mode, which is "
        f"then True, and {effects(analysis, found)}",
        f"Pass the mode on in {event.api}: `{call}`.",
        analysis.places((event, "called without the mode here"), (found.op, "in train mode here")),
        (name, *layers(analysis, (*found.dropping, *found.counting))[:_NAMED]),
        ops=(found.op.index,),
        cures=tuple(
            (Substitute(place, place.expression, call),)
            for place in analysis.user_frames(event.site, "")[:1]
            if event.mode
        ),
    )
