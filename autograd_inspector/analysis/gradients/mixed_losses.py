"""Gradients of another optimizer's loss that are summed with one's own: an adversary that was not detached."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings, renewed
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step


class Mixed(Struct, frozen=True):
    """A round: the ``foreign`` loss, the ``other`` step that it was for, its own loss (``own_run``), and the step after both."""

    foreign: Backward
    other: Step
    own_run: Backward
    step: Step

    @property
    def tensors(self) -> tuple[int, ...]:
        """The parameters that step with the sum."""
        return tuple(dict.fromkeys(p.tensor for p in self.step.parameters))

    @property
    def others(self) -> frozenset[int]:
        """The parameters that the first loss was for."""
        return frozenset(p.tensor for p in self.other.parameters)


def mixed(analysis: Analysis) -> Iterator[Mixed]:
    """The first such round of each optimizer all of whose steps are like that, twice at least.

    Both losses run through both networks; each is followed by one network's step; what the second one leaves in the
    first network is cleared before it is used, and what the first one leaves in the second network is not. Several
    losses that are meant to be summed are backpropagated before the steps, or leave the other network's gradients.
    """
    capture = analysis.capture
    rounds: dict[int, list[Mixed | None]] = {}
    last: dict[int, int] = {}
    for step in capture.steps:
        before = step.optimizer in last
        mixed_round = _round(analysis, step, last.get(step.optimizer, -1))
        last[step.optimizer] = step.at
        if before or mixed_round is not None or not capture.history.folded:  # Else half of it may be folded away.
            rounds.setdefault(step.optimizer, []).append(mixed_round)
    for each in rounds.values():
        whole = [mixed_round for mixed_round in each if mixed_round is not None]
        if len(whole) == len(each) > 1 and all(_discarded(analysis, *pair) for pair in pairwise(whole)):
            yield whole[0]


def _round(analysis: Analysis, step: Step, since: int) -> Mixed | None:
    steps = analysis.timeline.steps
    between = steps.places(since + 1, step.at - 1)
    if not between or steps.all[between[0]].optimizer != steps.all[between[-1]].optimizer:
        return None
    others = [steps.all[place] for place in between]
    if len({s.optimizer for s in others}) != 1 or step.error or step.computed:
        return None
    other = others[-1]
    runs = analysis.timeline.backwards.within(since + 1, step.at)
    tensors, adversary = {p.tensor for p in step.parameters}, {p.tensor for p in other.parameters}
    first = [run for run in runs if run.start <= other.at]
    second = [run for run in runs if run.start > other.at]
    foreign = next((run for run in first if tensors | adversary <= set(run.reached)), None)
    if foreign is None or not second or {r.site for r in first} & {r.site for r in second}:
        return None
    own_run = second[0]
    both = (
        tensors <= set(own_run.reached) and not adversary.isdisjoint(own_run.reached) and tensors.isdisjoint(adversary)
    )
    mixed_round = Mixed(foreign, other, own_run, step)
    return (
        mixed_round if both and tensors <= set(own_run.stale) and not _cleared(analysis, mixed_round, since) else None
    )


def _cleared(analysis: Analysis, mixed_round: Mixed, since: int) -> bool:
    """Whether something cleared what the foreign loss had left, or nothing what the round before had left."""
    tensors = mixed_round.tensors
    start, end = mixed_round.foreign.end, mixed_round.own_run.start
    # At the very index of the foreign backward it came before: setting to None after it would show, zeros are an op.
    if clearings(analysis, tensors, start + 1, end):
        return True
    if any(analysis.timeline.writes_of(tensor).places(start + 1, end) for tensor in tensors):
        return True
    if (
        zeroed_in_place(analysis, [p.gradient for p in mixed_round.step.parameters if p.gradient >= 0], start, end)
        is not None
    ):
        return True
    old = [tensor for tensor in tensors if tensor in mixed_round.foreign.stale]
    return bool(old) and not renewed(analysis, old, since, mixed_round.foreign)


def _discarded(analysis: Analysis, one: Mixed, following: Mixed) -> bool:
    """Whether what the own loss left in the other network was cleared before that network's next loss."""
    left = [t for t in one.own_run.reached if t in one.others and t in following.foreign.stale]
    return not left or renewed(analysis, left, one.own_run.end, following.foreign)


def entrance(analysis: Analysis, mixed_round: Mixed) -> int:
    """The site at which the foreign loss's network is given what was computed with these parameters; -1: none."""
    capture, live = analysis.capture, set(mixed_round.tensors)
    calls = capture.calls
    for op in capture.ops[: mixed_round.foreign.start]:
        if op.recorded and not live.isdisjoint(op.inputs):
            if not mixed_round.others.isdisjoint(op.inputs):
                call = calls[op.call] if op.call >= 0 else None
                while call is not None and call.parent >= 0 and calls[call.parent].root == call.root:
                    call = calls[call.parent]
                return op.site if call is None else call.site
            live.update(op.outputs)
    return -1
