"""AG205: running averages of gradients that an update computes anew from zeros, and does not keep."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.averages_not_kept import (
    AverageNotKept,
    averages_left_in_steps,
    averages_not_kept,
)
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import AverageLeft
from autograd_inspector.model.remedy import WriteInto
from autograd_inspector.model.wording import agree, summarize_names

_CALLED = "An assignment to a variable only binds its name to another tensor."


def not_kept(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that computes them, within steps of an optimizer or by hand."""
    for average in averages_not_kept(analysis):
        yield _by_hand(analysis, average)
    for events in averages_left_in_steps(analysis):
        yield _in_steps(analysis, events)


def _by_hand(analysis: Analysis, average: AverageNotKept) -> Problem:
    """The state of an update is zero in each step, for what is computed of it goes nowhere."""
    names = names_of(analysis, average.states)
    it, them = agree(names, "it was", "they were"), agree(names, "it", "them")
    return Problem(
        "warning",
        f"`{average.op.name}` computes a new average of the gradients from {summarize_names(names)} in each step, and nothing "
        f"writes it back: {summarize_names(names)} {agree(names, 'is', 'are')} zero in each step, as {it} made",
        f"Write the new average into {them}: `m.mul_(beta).add_(grad, alpha=1 - beta)`, or `m.copy_(new_m)`. {_CALLED}",
        analysis.places((average.op, "computed from zeros here, in each step"), (average.born, "made as zeros here")),
        tuple(names),
        ops=(average.op.index,),
        cures=at_line(analysis, average.op.site, lambda place: WriteInto(place, recorded=False)),
    )


def _in_steps(analysis: Analysis, events: tuple[AverageLeft, ...]) -> Problem:
    event, steps = events[0], analysis.timeline.steps_of(events[0].optimizer).all[-1:]
    names = names_of(analysis, dict.fromkeys(tensor for each in events for tensor in each.tensors))
    return Problem(
        "warning",
        f"{event.api} computes a new average of the gradients from `{event.entry}` of its state in each step, and nothing writes it back: "
        f"`{event.entry}` of {summarize_names(names)} is zero in each step, as it was made",
        f"Write the new average into the state: `m.mul_(beta).add_(grad, alpha=1 - beta)`, or `m.copy_(new_m)`. {_CALLED}",
        analysis.places((event, "computed from zeros here, in each step"), *((s, "step() called here") for s in steps)),
        (event.type, *names),
        ops=(event.at,),
        cures=at_line(analysis, event.site, lambda place: WriteInto(place, recorded=False)),
    )
