"""AG305: gradients that a library accumulates, where the program steps or calls backward() past that library."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.gradients.accumulated import NotDivided, StepsEachTime, not_divided, steps_each_time
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand, Remedies
from autograd_inspector.model.rewrites import AlsoGiven


def past_the_library(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer."""
    for early in steps_each_time(analysis):
        yield _early(analysis, early)
    for whole in not_divided(analysis):
        yield _whole(analysis, whole)


def _early(analysis: Analysis, found: StepsEachTime) -> Problem:
    event = found.event
    optimizer = analysis.capture.placement.optimizers[event.optimizer]
    name = variable(analysis, optimizer)
    return Problem(
        "warning",
        f"{event.type} steps in each micro-batch, although gradients should accumulate over {event.steps} of them: {name} "
        "was not given to prepare(), so accumulate() cannot hold its step() back",
        f"Pass {name} to accelerator.prepare() with the model, and use the optimizer that it returns.",
        analysis.places(
            *((site, "model prepared, without it, here") for site in found.prepared),
            (event, "step() in the middle of an accumulation here"),
            (optimizer, "optimizer made here"),
        ),
        (name, event.api),
        cures=tuple((AlsoGiven(place, name),) for site in found.prepared for place in analysis.user_frames(site, "")),
    )


def _whole(analysis: Analysis, found: NotDivided) -> Problem:
    event, count = found.event, len(found.runs)
    return Problem(
        "warning",
        f"{event.type} steps with the sum of the gradients of {count} micro-batches: loss.backward() is called directly, and "
        f"only accelerator.backward() divides the loss by the {event.steps} micro-batches of an accumulation",
        "Call accelerator.backward(loss), or divide the loss before backward().",
        analysis.places((found.runs[-1], "backward() of a whole loss here"), (event, "step() uses the sum here")),
        (event.api, "backward()"),
        ops=(found.step.op,),
        cures=tuple(_divided(analysis, found)),
    )


def _divided(analysis: Analysis, found: NotDivided) -> Iterator[Remedies]:
    """The accelerator calls backward()."""
    place = analysis.capture.place(found.runs[-1].site)
    loss = called_on(place, "backward")
    if place is not None and loss:
        yield (Operand(place, "whole", f"accelerator.backward({loss})"),)
