"""Losses of which a loop computes several for one step, and backward() runs from the last of them alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.losses_without_backward import waiting
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op


def losses_of_one_step(analysis: Analysis) -> Iterator[list[Op]]:
    """The losses of the last round, for each statement that makes the same number of them in all rounds."""
    told: set[int] = set()
    trained = waiting(analysis.capture, analysis.optimized_trainable)
    dropped = [op.index for op in trained if _is_number(analysis, op)]
    for optimizer in sorted({step.optimizer for step in analysis.capture.steps}) if dropped else ():
        for ops in _repeated(analysis, optimizer, dropped):
            if ops[-1].site not in told:
                told.add(ops[-1].site)
                yield ops


def _repeated(analysis: Analysis, optimizer: int, anywhere: list[int]) -> Iterator[list[Op]]:
    """The losses of the last round, for each such statement; ``anywhere``: what anything that learns lost."""
    capture = analysis.capture
    steps = [step for step in capture.steps if step.optimizer == optimizer and not step.error and not step.closure]
    learning = [p.tensor for p in steps[-1].parameters] if len(steps) > 1 else []
    starts = [*([] if capture.history.folded else [-1]), *(step.at for step in steps)]
    if not learning or not all(_within(anywhere, start, end) for start, end in pairwise(starts)):
        return  # Most programs drop nothing: no round is looked through for each of many optimizers.
    rounds = [_by_site(analysis, learning, start + 1, end) for start, end in pairwise(starts)]
    for site in set.intersection(*(set(each) for each in rounds)) if len(rounds) > 1 else ():
        dropped = [each[site] for each in rounds]
        if len({len(ops) for ops in dropped}) == 1:
            last = [_next_at(analysis, ops[-1], end) for ops, end in zip(dropped, starts[1:], strict=True)]
            made = [_count(analysis, site, start + 1, end) for start, end in pairwise(starts)]
            if all(op is not None for op in last) and {len(ops) + 1 for ops in dropped} == set(made):
                yield [*dropped[-1], *(op for op in last[-1:] if op is not None)]


def _by_site(analysis: Analysis, learning: list[int], start: int, end: int) -> dict[int, list[Op]]:
    """The numbers with a graph that nothing went on with, by the statement that made them."""
    found: dict[int, list[Op]] = {}
    for op in waiting(analysis.capture, learning, start, end):
        if _is_number(analysis, op):
            found.setdefault(op.site, []).append(op)
    return found


def _is_number(analysis: Analysis, op: Op) -> bool:
    return all(analysis.capture.tensors[tensor].shape == () for tensor in op.outputs)


def _within(indices: list[int], start: int, end: int) -> bool:
    """Whether one of the sorted indices lies between the two."""
    at = bisect_right(indices, start)
    return at < len(indices) and indices[at] < end


def _next_at(analysis: Analysis, op: Op, end: int) -> Op | None:
    """The next result of the same statement, where a backward began at it."""
    same = (each for each in analysis.capture.ops[op.index + 1 : end] if _same(each, op))
    following = next(same, None)
    begins = following is not None and not analysis.capture.begun.isdisjoint(following.outputs)
    return following if begins else None


def _same(one: Op, other: Op) -> bool:
    return one.site == other.site and one.name == other.name


def _count(analysis: Analysis, site: int, start: int, end: int) -> int:
    """How many numbers with a graph a statement made."""
    return sum(
        op.site == site and op.recorded and bool(op.outputs) and _is_number(analysis, op)
        for op in analysis.capture.ops[start:end]
    )


def starved_without(analysis: Analysis, dropped: list[Op], run: Backward) -> list[int]:
    """The parameters of optimizers that lie behind dropped losses, and that the backward of the last one did not reach."""
    leaves = Leaves(analysis.capture, analysis.flow)
    behind = {leaf for op in dropped for tensor in op.outputs for leaf in leaves.of(tensor, op.index + 1)}
    return sorted(behind.intersection(analysis.optimized_trainable).difference(run.reached))
