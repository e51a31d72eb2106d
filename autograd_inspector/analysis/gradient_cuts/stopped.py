"""Parameters that stopped learning: a value computed without a graph, once, took the place of what they are read by.

A merged weight that a preview cached, features that an evaluation stored: the parameters got a gradient in every round
until then, and get none in any since.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import Cut, GradientCut
from autograd_inspector.analysis.gradient_cuts.cuts_behind import cuts_behind
from autograd_inspector.analysis.gradient_cuts.harmful import carries, group_by_cause, is_state
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture

_ROUNDS = 2
"""So many rounds with a gradient, and so many without: in fewer, losses may take turns."""


def stopped_cuts(capture: Capture, flow: DataFlow) -> Iterator[GradientCut]:
    """The cuts behind values from before the rounds whose gradients are missing, which all losses since then use."""
    for optimizer in sorted({step.optimizer for step in capture.steps}):
        for rounds, since, tensors in stopped_since(capture, rounds_of(capture, optimizer)):
            yield from _cuts(capture, flow, rounds, since, tensors)


def _cuts(
    capture: Capture, flow: DataFlow, rounds: Sequence[Sequence[Backward]], since: int, tensors: frozenset[int]
) -> Iterator[GradientCut]:
    # Of what the first of these rounds has computed itself the others use nothing, unless it was kept.
    made_by = rounds[0][-1].start
    begun = [since, *(made_by for _ in rounds[1:])]
    used = [older(capture, flow, runs, start, made_by) for runs, start in zip(rounds, begun, strict=True)]
    kept = {tensor: at for tensor, at in used[-1].items() if all(tensor in others for others in used)}
    cuts: dict[Cut, tuple[int, ...]] = {}
    behind: dict[Cut, int] = {}
    for tensor, at in kept.items():
        for cut, above, _ in cuts_behind(capture, flow, [(tensor, at)], lambda op, t: carries(capture, op, t)):
            lost = tuple(t for t in above if t in tensors)
            if lost:
                cuts[cut] = lost
                behind[cut] = tensor
    for found in group_by_cause(capture, cuts, rounds[-1][-1], fatal=False):
        if found.cause != "non-differentiable":
            values = dict.fromkeys(behind[cut] for cut in zip(found.ops, found.through, strict=True))
            yield replace(found, kept=tuple(values))


def older(capture: Capture, flow: DataFlow, runs: Sequence[Backward], since: int, made_by: int) -> dict[int, int]:
    """Computed values from before ``made_by`` -> an op that read them for the losses of a round, from ``since`` on."""
    starts = [(root, run.start) for run in runs for root in run.roots]
    older: dict[int, int] = {}
    for op, _ in flow.upstream(starts, lambda op, _: op.index >= since):
        for tensor in op.inputs if op.index >= since else ():
            birth = capture.tensors[tensor].birth
            if 0 <= birth < made_by and not is_state(capture, tensor) and carries(capture, op, tensor):
                older[tensor] = op.index
    return older


def rounds_of(capture: Capture, optimizer: int) -> list[list[Backward]]:
    """The completed backwards between the steps of an optimizer; steps with none in between are one."""
    steps = [step for step in capture.steps if step.optimizer == optimizer and not step.error and not step.closure]
    runs = [run for run in capture.completed_runs if run.nested_in < 0]
    bounds = pairwise([-1, *(step.at for step in steps)])
    # At the same index a step, which is an op, comes behind a backward.
    places = [(bisect_right(runs, start, key=_began), bisect_right(runs, end, key=_began)) for start, end in bounds]
    rounds = [runs[first:last] for first, last in places]
    return [each for each in rounds if each]


def _began(run: Backward) -> int:
    return run.start


def stopped_since(
    capture: Capture, rounds: list[list[Backward]]
) -> Iterator[tuple[Sequence[list[Backward]], int, frozenset[int]]]:
    """(the rounds since then, when these began, parameters) for each moment from which parameters got no gradient."""
    if len(rounds) < 2 * _ROUNDS:
        return
    given = [frozenset(t for run in runs for t in run.reached if t not in run.empty) for runs in rounds]
    switched = {change.tensor for change in capture.requires_grad_changes}
    learning = frozenset(t for t in capture.optimized if capture.tensors[t].requires_grad) - switched
    for first in range(_ROUNDS, len(rounds) - _ROUNDS + 1):
        tensors = learning.intersection(*given[:first]).difference(*given[first:])
        if tensors:
            yield rounds[first:], rounds[first - 1][-1].end, tensors
