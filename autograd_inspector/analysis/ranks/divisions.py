"""How often a gradient is divided by the number of ranks: once is the mean of all of them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.losses import counts_ranks, divides_by_ranks, is_mean, mean_as_it_is
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import (
    Communicated,
    ModelSharded,
    ReductionHooked,
    ReplicasWrapped,
    SyncSwitchedOff,
)

_LIKELIHOODS = OpKind.TAKES_SCORES | OpKind.TAKES_LOGITS | OpKind.TAKES_LOGS
"""Losses that nobody halves for the sake of a derivative, as people do with a square."""


class DividedAgain(Struct, frozen=True):
    """``by`` divides by the number of ranks what ``earlier`` has divided by it already, before ``step``.

    ``of_loss``: it divides the loss, and not the gradients. ``summed``: a call summed the value of the loss before.
    ``counted``: the program was seen to ask for the number of ranks, and to divide by what it got. Else the number is
    as large, no more.
    """

    by: Op
    earlier: Op | ReplicasWrapped | ModelSharded
    tensors: tuple[int, ...]
    step: Step
    of_loss: bool
    summed: Communicated | None = None
    counted: bool = False


def divided_again(capture: Capture, timeline: Timeline, reductions: Reductions) -> Iterator[DividedAgain]:
    """The first step of that kind, where each step uses one backward: of several, the number may be how many."""
    if not capture.given or capture.events_of(SyncSwitchedOff):
        return
    if capture.events_of(ReductionHooked):
        return
    used: dict[Backward, tuple[Step, list[int]]] = {}
    for step in capture.steps:
        held = [p.tensor for p in step.parameters if p.gradient >= 0 and not p.frozen]
        runs = [r for r in timeline.backwards.within(_before(capture, step), step.updates_from) if r.api == "backward"]
        runs = [run for run in runs if not set(held).isdisjoint(run.reached)] if not reductions.sharded_models else runs
        if len(runs) > 1 or step.computed:
            return
        if runs and not step.error:
            used[runs[0]] = (step, held)
    for run, (step, held) in used.items():
        found = _of_step(capture, reductions, run, step, held)
        if found is not None:
            yield found
            return


def _before(capture: Capture, step: Step) -> int:
    """Behind which op the step before of the same optimizer lies."""
    ends = (s.at + 1 for s in capture.steps if s.optimizer == step.optimizer and s.at < step.at)
    return max(ends, default=0)


def _of_step(
    capture: Capture, reductions: Reductions, run: Backward, step: Step, held: list[int]
) -> DividedAgain | None:
    loss = _division_of_loss(capture, run)
    if loss is None and not mean_as_it_is(capture, run):
        return None
    averaging = _averaging(capture, reductions)
    sums = [e for e in reductions.exchanges.within(run.start, step.updates_from) if e.op]
    wrapped = [tensor for tensor in held if tensor in averaging]
    tensors = wrapped or [t for t in held if any(_sums(capture, reductions, event, t) for event in sums)]
    if not tensors or (wrapped and any(len(event.tensors) for event in sums)):
        return None
    divisions = _divisions(capture, reductions, run, step, tensors)
    if divisions is None:
        return None
    done: list[Op] = [*([loss] if loss is not None else ()), *divisions]
    first = averaging[tensors[0]] if wrapped else done[0] if done else None
    rest = done if wrapped else done[1:]
    if first is None or not rest:
        return None
    summed = reductions.reduces_loss(run) if rest[-1] is loss else None
    counted = all(counts_ranks(capture, op) for op in done)
    return DividedAgain(rest[-1], first, tuple(tensors), step, rest[-1] is loss, summed, counted)


def _averaging(capture: Capture, reductions: Reductions) -> dict[int, ReplicasWrapped | ModelSharded]:
    """Parameter -> what averages its gradient over all ranks."""
    all_of: dict[int, ReplicasWrapped | ModelSharded] = {}
    events: list[ReplicasWrapped | ModelSharded] = [*reductions.sharded_models, *reductions.wrappers.values()]
    for event in events:
        if event.world == capture.world_size:
            all_of |= dict.fromkeys(event.tensors, event)
    return all_of


def _sums(capture: Capture, reductions: Reductions, event: Communicated, tensor: int) -> bool:
    whole = event.op == "sum" and event.world == capture.world_size and event.name == "all_reduce"
    return whole and event in reductions.exchanged(tensor)


def _division_of_loss(capture: Capture, run: Backward) -> Op | None:
    """The op that divides a mean of likelihoods by the number of ranks, where that is what a backward starts from."""
    births = [capture.tensors[root].birth for root in run.roots]
    if len(births) != 1 or births[0] < 0 or run.weights:
        return None
    op = capture.ops[births[0]]
    made = capture.tensors[op.inputs[0]].birth if len(op.inputs) == 1 else -1
    if made < 0 or not divides_by_ranks(capture, op):
        return None
    if counts_ranks(capture, op):
        return op if is_mean(capture.ops[made]) else None
    # A half, as a factor, is the weight of a loss.
    return op if is_a(capture.ops[made].name, _LIKELIHOODS) and is_a(op.name, OpKind.DIVIDES) else None


def _divisions(
    capture: Capture, reductions: Reductions, run: Backward, step: Step, tensors: list[int]
) -> list[Op] | None:
    """What divides the gradients of all of some parameters so; None where something else scales them before that.

    A program divides each, or several at once; the first parameter's stand for all.
    """
    storage = reductions.exchanges.storage
    memory = {storage(g) for g in reductions.gradients(tensors[0])} - {-1}
    found: list[Op] = []
    for op in capture.ops[run.end : step.updates_from]:
        if op.has(Trait.COLLECTIVE) or memory.isdisjoint(write.storage for write in op.writes):
            continue
        if divides_by_ranks(capture, op):
            found.append(op)
        elif not found:
            return None
    return found
