"""zero_grad, backward, clip and step, put into their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.remedy import Again, BackwardFrom, Hoist, Insert, Move, Remedies, Remove
from autograd_inspector.model.rewrites import CallBackward


def in_order(analysis: Analysis, early: int, late: int) -> Iterator[Remedies]:
    """What runs at the first site comes behind what runs at the second one."""
    pair = meeting(analysis, early, late)
    if pair is not None:
        yield (Move(*pair, "behind"),)


def moved_beside(analysis: Analysis, sites: Iterable[int], step: int) -> Iterator[Remedies]:
    """What runs at those sites runs right behind what runs at another one instead, as often as that."""
    for site in sites:
        pair = meeting(analysis, site, step)
        if pair is not None:
            yield Remove(pair[0]), Again(pair[0], pair[1], "behind")


def brought_forward(analysis: Analysis, late: int, early: int) -> Iterator[Remedies]:
    """What runs at the first site comes before what runs at the second one."""
    pair = meeting(analysis, late, early)
    if pair is not None:
        yield (Move(*pair, "before"),)


def cleared_first(analysis: Analysis, step: Step, run: Backward) -> Iterator[Remedies]:
    """Gradients that are cleared before a backward adds to them, or else right after the step that used them."""
    call = f"{optimizer_name(analysis, step)}.zero_grad()"
    pair = meeting(analysis, run.site, step.site)
    places = [pair[0] if pair is not None else analysis.capture.place(run.site)]
    yield from ((Insert(place, call),) for place in places if place is not None)
    yield from cleared_after(analysis, step)


def cleared_after(analysis: Analysis, step: Step) -> Iterator[Remedies]:
    """Gradients that are cleared right after the step that used them."""
    place = analysis.capture.place(step.site)
    if place is not None:
        yield (Insert(place, f"{optimizer_name(analysis, step)}.zero_grad()", "behind"),)


def cleared_once(analysis: Analysis, clearing: int, run: int, step: Step, *, again: bool) -> Iterator[Remedies]:
    """What clears runs before the first of several backwards that serve one step: before their loop, or before it.

    ``again``: they are rounds of one line. What clears behind it in each round has to wait for the step.
    """
    pair = meeting(analysis, clearing, run)
    end = meeting(analysis, clearing, step.site)
    place = analysis.capture.place(clearing)
    behind = pair is not None and pair[0].lineno > pair[1].lineno
    if pair is not None and behind and not again:
        yield (Move(*pair, "before"),)
    elif place is not None and behind:
        yield from ((Remove(place), *after) for after in cleared_after(analysis, step))
    elif place is not None:
        yield from ((Hoist(*both),) for both in (end,) if both is not None)
        yield from ((Remove(place), *after) for after in cleared_after(analysis, step))


def added_between(analysis: Analysis, call: str, run: int) -> Iterator[Remedies]:
    """A call that clears, right before a backward."""
    yield from ((Insert(place, call),) for place in analysis.user_frames(run, ""))


def backward_called(analysis: Analysis, step: Step, loss: str, made: Op | None) -> Iterator[Remedies]:
    """A backward before the step that needs it; of several optimizers that wait for one loss, before the first."""
    since = made.index if made is not None else step.at
    waiting = [
        each
        for each in analysis.capture.steps
        if since <= each.at <= step.at and all(p.gradient < 0 for p in each.parameters)
    ]
    place = analysis.capture.place(waiting[0].site if waiting else step.site)
    if place is not None and loss.isidentifier():
        yield (CallBackward(place, loss),)


def backward_in_closure(analysis: Analysis, loss: Op | None) -> Iterator[Remedies]:
    """A backward right behind the loss that a closure computes."""
    frames = () if loss is None else analysis.user_frames(loss.site, "")
    yield from ((BackwardFrom(place),) for place in frames[:1])


def stepped_after(analysis: Analysis, run: Backward, optimizer: OptimizerRecord) -> Iterator[Remedies]:
    """A step right after the backward, in the function that has the optimizer under its name."""
    call = f"{variable(analysis, optimizer)}.step()"
    yield from ((Insert(place, call, "behind"),) for place in analysis.user_frames(run.site, ""))


def optimizer_name(analysis: Analysis, step: Step) -> str:
    """What the line that steps calls the optimizer, else its variable."""
    stepped = called_on(analysis.capture.place(step.site), "step")
    return stepped or variable(analysis, analysis.capture.placement.optimizers[step.optimizer])
