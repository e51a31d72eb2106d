"""AG305: zero_grad, backward, clip and step, in the order that training needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.none_grad_read import too_early_or_late
from autograd_inspector.advice.remedies.protocol import (
    added_between,
    brought_forward,
    cleared_after,
    cleared_first,
    in_order,
)
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import cleared_before, clearings_of_others, renewed
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.idle_statements import idle_here
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ZeroGradCalled
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.wording import summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.accumulation import past_the_library
from autograd_inspector.rules.ag305_gradient_protocol.cleared_before_step import wasted
from autograd_inspector.rules.ag305_gradient_protocol.cleared_by_another import cleared_by_another
from autograd_inspector.rules.ag305_gradient_protocol.cleared_for_nothing import cleared_for_nothing
from autograd_inspector.rules.ag305_gradient_protocol.clearing_call import clearing_call
from autograd_inspector.rules.ag305_gradient_protocol.clipped_each_time import clipped_each_time
from autograd_inspector.rules.ag305_gradient_protocol.closure_missing import closure_missing
from autograd_inspector.rules.ag305_gradient_protocol.divided_twice import divided_twice
from autograd_inspector.rules.ag305_gradient_protocol.gradients_not_stored import gradients_not_stored
from autograd_inspector.rules.ag305_gradient_protocol.gradients_of_a_probe import left_by_probes
from autograd_inspector.rules.ag305_gradient_protocol.gradients_of_an_input import left_by_others
from autograd_inspector.rules.ag305_gradient_protocol.guarded_away import guarded_away
from autograd_inspector.rules.ag305_gradient_protocol.late_gradients import too_late
from autograd_inspector.rules.ag305_gradient_protocol.left_after_use import left_after_use
from autograd_inspector.rules.ag305_gradient_protocol.left_by_a_weights_loss import left_by_a_weights_loss
from autograd_inspector.rules.ag305_gradient_protocol.left_by_another_loss import left_by_another_loss
from autograd_inspector.rules.ag305_gradient_protocol.misplaced_clipping import misplaced_clipping
from autograd_inspector.rules.ag305_gradient_protocol.moved_back import taken_back_otherwise
from autograd_inspector.rules.ag305_gradient_protocol.moved_by_momentum import carried_on
from autograd_inspector.rules.ag305_gradient_protocol.never_called import never_called
from autograd_inspector.rules.ag305_gradient_protocol.never_stepped import never_stepped
from autograd_inspector.rules.ag305_gradient_protocol.only_the_last import only_the_last
from autograd_inspector.rules.ag305_gradient_protocol.outlived_gradients import outlived_gradients
from autograd_inspector.rules.ag305_gradient_protocol.refused_batch import refused_batch
from autograd_inspector.rules.ag305_gradient_protocol.refused_start import refused_starts
from autograd_inspector.rules.ag305_gradient_protocol.returned_gradients import gradients_only_returned
from autograd_inspector.rules.ag305_gradient_protocol.same_graph_twice import added_twice
from autograd_inspector.rules.ag305_gradient_protocol.scaled_after_clipping import scaled_after_clipping
from autograd_inspector.rules.ag305_gradient_protocol.scaled_each_time import scaled_each_time
from autograd_inspector.rules.ag305_gradient_protocol.scaled_gradients import scaled_gradients, unscaled_for_nothing
from autograd_inspector.rules.ag305_gradient_protocol.scaler_order import out_of_order
from autograd_inspector.rules.ag305_gradient_protocol.scheduler_first import scheduler_first
from autograd_inspector.rules.ag305_gradient_protocol.stepped_within import divided_but_stepped
from autograd_inspector.rules.ag305_gradient_protocol.summed_by_hand import summed_by_hand
from autograd_inspector.rules.ag305_gradient_protocol.sums_of_tasks import sums_of_tasks
from autograd_inspector.rules.ag305_gradient_protocol.term_counted_again import counted_again
from autograd_inspector.rules.ag305_gradient_protocol.two_values import moved_between, several_evaluations
from autograd_inspector.rules.ag305_gradient_protocol.uncounted import not_counted
from autograd_inspector.rules.ag305_gradient_protocol.unknown_to_module import (
    REGISTER,
    hidden,
    registered,
    unknown_to_module,
)
from autograd_inspector.rules.ag305_gradient_protocol.updates_by_hand import misled_updates


def check(analysis: Analysis) -> Iterator[Problem]:
    """zero_grad, backward, unscale, clip, step: one is missing or out of order.

    Why it matters
        Gradients that are cleared before the step are lost, gradients that are never cleared add up, and a step without
        backward does nothing. `p = p - lr * p.grad` does nothing either: it rebinds a variable. A batch that is refused for its
        gradients leaves them to the next one. None of this raises.

    Example
        ::

            net(x).pow(2).mean().backward()
            optimizer.zero_grad()
            optimizer.step()

    Fix
        ::

            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        "Taking an optimization step" in the documentation of torch.optim.
    """
    sources = GradientSources(analysis)
    evaluated = several_evaluations(analysis, sources)
    yield from evaluated.values()
    reported_cases = {("stale", step.site) for step in analysis.capture.steps if step.optimizer in evaluated}
    last: dict[int, int] = {}
    for step in analysis.capture.steps:
        since = last.get(step.optimizer)
        last[step.optimizer] = step.at
        for kind, finding in _judged(analysis, since, step):
            if (kind, step.site) not in reported_cases:
                reported_cases.add((kind, step.site))
                yield finding
    yield from added_twice(analysis, sources)
    yield from counted_again(analysis, sources)
    yield from scaled_each_time(analysis, sources)
    yield from scaled_after_clipping(analysis, sources)
    yield from moved_between(analysis, sources)
    yield from left_by_others(analysis, sources)
    yield from left_by_probes(analysis, sources)
    yield from left_by_another_loss(analysis, sources)
    yield from left_by_a_weights_loss(analysis, sources)
    yield from left_after_use(analysis, sources)
    yield from sums_of_tasks(analysis)
    yield from summed_by_hand(analysis)
    yield from cleared_by_another(analysis, sources)
    yield from cleared_for_nothing(analysis)
    yield from wasted(analysis)
    yield from only_the_last(analysis)
    yield from too_late(analysis)
    yield from closure_missing(analysis)
    yield from past_the_library(analysis)
    yield from divided_twice(analysis)
    yield from not_counted(analysis)
    yield from divided_but_stepped(analysis)
    yield from never_stepped(analysis)
    yield from guarded_away(analysis)
    refused = list(refused_batch(analysis))
    yield from refused
    yield from misplaced_clipping(analysis)
    yield from () if refused else clipped_each_time(analysis)  # A consequence.
    yield from carried_on(analysis)
    yield from scaled_gradients(analysis)
    yield from unscaled_for_nothing(analysis)
    yield from out_of_order(analysis)
    yield from scheduler_first(analysis)
    yield from refused_starts(analysis)
    yield from too_early_or_late(analysis)
    yield from misled_updates(analysis)
    yield from outlived_gradients(analysis)
    yield from taken_back_otherwise(analysis)


def _judged(analysis: Analysis, previous: int | None, step: Step) -> Iterator[tuple[str, Problem]]:
    """What is wrong with a step; ``previous``: when the same optimizer had stepped before."""
    if (
        analysis.capture.history.folded
        and previous is None
        and analysis.losses_without_backward.keys().isdisjoint(p.tensor for p in step.parameters)
    ):
        return  # What came between its last step and this one is folded away.
    since = -1 if previous is None else previous
    runs = analysis.timeline.backwards
    within = runs.places(since + 1, step.at)
    last = runs.all[within[-1]] if within else None
    trainable = {p.tensor for p in step.parameters if analysis.lifecycle.requires_grad_at(p.tensor, step.at)}
    if not trainable:
        return
    missing = None
    if not step.error and not _closure(analysis, step):
        dropped = gradients_not_stored(analysis, step, since, trainable)
        missing = (
            dropped
            or never_called(analysis, step, since, last, trainable)
            or gradients_only_returned(analysis, step, since, trainable)
        )
    if missing is not None:
        yield "missing", missing
        return
    reached = {tensor for tensor in trainable if _reached(analysis, tensor, since, step)}
    if last is not None and reached and not step.error and not _closure(analysis, step):
        site = cleared_before(analysis, step, reached, last)
        if site is not None:
            own = max((_runs_to(analysis, t, since, step)[-1] for t in reached), key=lambda run: run.index)
            yield "cleared", _cleared(analysis, step, site, own)
            return
    if all(p.gradient < 0 for p in step.parameters) and not step.error and not _closure(analysis, step):
        return
    for run, stale in _first_to_add(analysis, reached, since, step):
        # Another loss may run through a critic in between: what it leaves there is cleared with the rest, later.
        latest = max((_runs_to(analysis, tensor, since, step)[-1] for tensor in stale), key=lambda r: r.index)
        if not renewed(analysis, stale, since, latest):
            yield "stale", _accumulated(analysis, step, stale, run, first=previous is None)
            return


def _own(analysis: Analysis, step: Step, stale: list[int], run: Backward) -> Backward:
    """The backward that a clearing belongs before: behind the step of another optimizer the last one, else ``run``.

    What came before that step was computed for the other optimizer's parameters.
    """
    last = max((r for t in stale for r in _runs_to(analysis, t, run.start - 1, step)), key=lambda r: r.index)
    others = analysis.timeline.steps.within(run.end, last.start)
    apart = any(other.optimizer != step.optimizer and other.held.isdisjoint(stale) for other in others)
    return last if apart else run


def _runs_to(analysis: Analysis, tensor: int, since: int, step: Step) -> Sequence[Backward]:
    """The backwards between an optimizer's step and the one before that reached a parameter."""
    return analysis.timeline.backwards_to(tensor).within(since + 1, step.at)


def _reached(analysis: Analysis, tensor: int, since: int, step: Step) -> bool:
    return any(tensor not in analysis.timeline.empty(run) for run in _runs_to(analysis, tensor, since, step))


def _first_to_add(analysis: Analysis, reached: set[int], since: int, step: Step) -> list[tuple[Backward, list[int]]]:
    """(backward, the parameters that it was the first to reach, and whose ``.grad`` was there already)."""
    first_runs: dict[int, tuple[Backward, list[int]]] = {}
    for tensor in reached:
        run = _runs_to(analysis, tensor, since, step)[0]
        if tensor in analysis.timeline.stale(run):
            first_runs.setdefault(run.index, (run, []))[1].append(tensor)
    return [
        (run, sorted(stale, key=analysis.timeline.stale(run).__getitem__))
        for _, (run, stale) in sorted(first_runs.items())
    ]


def _closure(analysis: Analysis, step: Step) -> bool:
    """Whether the step ran the program's closure: its gradients were not there yet when it began."""
    if any(p.gradient < 0 and p.version_after > p.version_before for p in step.parameters):
        return True
    return step.site >= 0 and analysis.timeline.first_at(step.site) <= step.at


def _cleared(analysis: Analysis, step: Step, site: int, run: Backward) -> Problem:
    names = [name_of(analysis, p.tensor) for p in step.parameters]
    late = _comes_later(analysis, run.site, step.site)
    text = (
        "step() comes before backward() in the loop, and the gradients of the previous iteration are already cleared"
        if late
        else "the gradients are cleared after backward() and before step() has used them"
    )
    clearing = analysis.user_frames(site, "gradients cleared here")
    stepping = analysis.user_frames(step.site, "step() finds none here")
    return Problem(
        "warning",
        f"{text}, so step() moves none of {summarize_names(names)}",
        "Call zero_grad() before backward(), or after step(): zero_grad, backward, step.",
        (
            *(stepping if late else clearing),
            *(clearing if late else ()),
            *analysis.user_frames(run.site, "gradients computed here"),
            *stepping,
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(
            in_order(analysis, step.site, run.site)
            if late
            else in_order(analysis, site, step.site)
            if _in_place(analysis, site) or _several_serve_one(analysis, step, run)
            else brought_forward(analysis, site, run.site)
        ),
    )


def _in_place(analysis: Analysis, site: int) -> bool:
    """Whether a line writes zeros into gradients by itself: before the first backward there would be none."""
    return all(call.site != site for call in analysis.capture.events_of(ZeroGradCalled))


def _comes_later(analysis: Analysis, one: int, other: int) -> bool:
    """Whether one line stands below another in the same function."""
    a, b = analysis.capture.place(one), analysis.capture.place(other)
    return a is not None and b is not None and a.scope == b.scope and a.lineno > b.lineno


def _accumulated(analysis: Analysis, step: Step, stale: list[int], run: Backward, *, first: bool) -> Problem:
    names = [name_of(analysis, t) for t in stale]
    why = (
        "already had a .grad when the capture began, and nothing cleared it: the first step uses the sum of old and new "
        "gradients"
        if first
        else "still had the .grad of the previous step, and nothing cleared it: gradients add up from step to step"
    )
    uncalled = [] if first else idle_here(analysis, (run.site, step.site), "zero_grad")
    own = _own(analysis, step, stale, run)
    others = [] if first else clearings_of_others(analysis, stale, own.start)
    held = None if uncalled else unknown_to_module(analysis, stale, others)
    return Problem(
        "warning",
        f"{summarize_names(names)} {why}" + ("" if held is None else hidden(held)),
        "Write the parentheses: `zero_grad()`. Without them the method is not called."
        if uncalled
        else _clearing_fix(analysis, step, own)
        if held is None
        else REGISTER,
        analysis.places(
            *((each, "zero_grad is not called here") for each in uncalled),
            (held, "container made here"),
            (run, "added to old gradients here"),
            (step, "step() uses the sum here"),
            *((each, "clears other parameters only") for each in others),
        ),
        tuple(names),
        ops=(step.op,),
        cures=(*(registered(analysis, held) if held is not None else ()), *_clearing(analysis, step, own)),
    )


def _clearing(analysis: Analysis, step: Step, run: Backward) -> Iterator[Remedies]:
    if step.computed and run.start >= step.start:
        yield from added_between(analysis, clearing_call(analysis, step, step.start), run.site)
    elif not step.computed:
        yield from (
            cleared_after(analysis, step)
            if _several_serve_one(analysis, step, run)
            else cleared_first(analysis, step, run)
        )


def _several_serve_one(analysis: Analysis, step: Step, run: Backward) -> bool:
    """Whether more backwards of that line ran than steps."""
    runs = sum(r.site == run.site and not r.error for r in analysis.capture.backwards)
    return sum(s.optimizer == step.optimizer for s in analysis.capture.steps) < runs


def _clearing_fix(analysis: Analysis, step: Step, run: Backward) -> str:
    """Where several backwards serve one step, clearing before each of them would leave the step the last one only."""
    if step.computed and run.start >= step.start:
        return f"Call `{clearing_call(analysis, step, step.start)}` at the beginning of the closure."
    if _several_serve_one(analysis, step, run):
        return "Call optimizer.zero_grad() once for each step(), right after it."
    return "Call optimizer.zero_grad() before backward()."
