"""AG601 where gradients of mean losses are summed over the ranks, and nothing divides the sum."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.losses import mean_as_it_is
from autograd_inspector.analysis.ranks.reductions import Reached
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.wording import summarize_names


def undivided_sums(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind.

    Nothing where ranks hold parts of one model: there each has a part of one gradient, and the sum is all of it.
    """
    exchanges = analysis.reductions.exchanges
    if exchanges.point_to_point or exchanges.in_functions:
        return
    for reached in analysis.reductions.reached:
        events = [
            event
            for event in exchanges.within(reached.run.start, reached.step.updates_from)
            if event.op == "sum" and is_a(event.name, OpKind.REDUCES_RANKS)
        ]
        summed = [t for t in reached.reduced if t not in analysis.reductions.wrapper_of]
        given = {t for event in events for t in event.tensors}
        gradients = {g for t in summed for g in analysis.gradients.get(t, ())}
        if not (events and summed and given & gradients) or _scaled(analysis, reached, gradients):
            continue
        if not mean_as_it_is(analysis.capture, reached.run):
            continue
        event = next(event for event in events if gradients & set(event.tensors))
        names = names_of(analysis, summed)
        yield Problem(
            "warning",
            f"{event.name} sums the gradients of {summarize_names(names)} over {event.world} ranks, but nothing divides "
            f"them by the number of ranks: the loss on each rank is a mean, so the step is {event.world} times "
            "as large as in a single process",
            "Divide by the number of ranks afterwards: `p.grad /= dist.get_world_size()`, or divide the loss.",
            analysis.places((event, f"{event.name} called here"), (reached.step, "step() called here")),
            tuple(names),
            ops=(event.at, reached.step.op),
        )
        return


def _scaled(analysis: Analysis, reached: Reached, gradients: set[int]) -> bool:
    """Whether anything but exchanges writes to the gradients, or computes others of them, before the step."""
    memory = {analysis.reductions.exchanges.storage(g) for g in gradients} - {-1}
    ops = analysis.capture.ops[reached.run.start : reached.step.updates_from]
    return any(_changes(analysis, op, memory) for op in ops if not op.has(Trait.COLLECTIVE))


def _changes(analysis: Analysis, op: Op, memory: set[int]) -> bool:
    storage = analysis.reductions.exchanges.storage
    if any(write.storage in memory for write in op.writes):
        return True
    return any(storage(t) in memory for t in op.inputs) and any(storage(t) not in memory for t in op.outputs)
