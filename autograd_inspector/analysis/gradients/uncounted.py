"""Means of micro-batches that nobody divides, although a library has counted the items of all of them for that."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.micro_batches import accumulations
from autograd_inspector.analysis.modules.removed_adapters import by_library
from autograd_inspector.analysis.ranks.losses import is_mean
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ArgumentUnread, LossDivided

_DEEPEST = 12


class Uncounted(Struct, frozen=True):
    """``step`` uses the sum of the gradients of ``runs``; ``mean`` made the loss of the last of them.

    ``count`` made, of what all of these losses were computed from, a number that nothing reads. ``unread``: what the
    function that took the mean is given, and does not read.
    """

    step: Step
    runs: tuple[Backward, ...]
    mean: Op
    count: Op
    unread: ArgumentUnread | None


def uncounted(analysis: Analysis) -> Iterator[Uncounted]:
    """The first step of that kind, of several backwards that a library called on losses of the program."""
    divided = {tensor for event in analysis.capture.events_of(LossDivided) if event.by for tensor in event.tensors}
    for step, runs in accumulations(analysis):
        if len(runs) < len(("one", "another")) or not all(by_library(analysis, run.site) for run in runs):
            continue
        if any(not divided.isdisjoint(run.roots) for run in runs):
            continue
        means = [_mean(analysis, run) for run in runs]
        lines = {op.site for op in means if op is not None}
        count = _count(analysis, runs) if None not in means and len(lines) == 1 else None
        if count is not None and means[-1] is not None:
            around = {frame.function for frame in analysis.capture.site(means[-1].site)}
            unread = [event for event in analysis.capture.events_of(ArgumentUnread) if event.function in around]
            yield Uncounted(step, tuple(runs), means[-1], count, next(iter(unread), None))
            return


def _mean(analysis: Analysis, run: Backward) -> Op | None:
    """The op of the program's that made a root, if it takes a mean, and the library only handed that on."""
    op = analysis.flow.birth(run.roots[0]) if len(run.roots) == 1 and not run.weights else None
    for _ in range(_DEEPEST):
        if op is None or not by_library(analysis, op.site):
            break
        op = analysis.flow.birth(op.inputs[0]) if len(op.inputs) == 1 else None
    return op if op is not None and is_mean(op) and not by_library(analysis, op.site) else None


def _count(analysis: Analysis, runs: list[Backward]) -> Op | None:
    """The op of a library's that made one number of what all of these losses were computed from, and that nothing reads."""
    capture = analysis.capture
    since = max((step.at for step in capture.steps if step.at < runs[0].start), default=-1)
    unread = [
        op
        for op in capture.ops[since + 1 : runs[0].start]
        if len(op.outputs) == 1
        and not op.recorded
        and capture.tensors[op.outputs[0]].shape == ()
        and op.outputs[0] not in op.inputs
        and not capture.readers.get(op.outputs[0], ())
        and by_library(analysis, op.site)
    ]
    if not unread:
        return None
    losses = [_read(analysis, run.roots[0], run.start, since) for run in runs]
    for op in unread:
        counted = _read(analysis, op.outputs[0], op.index + 1, since)
        own = [counted & read - set().union(*(other for other in losses if other is not read)) for read in losses]
        if all(own):
            return op
    return None


def _read(analysis: Analysis, tensor: int, before: int, since: int) -> set[int]:
    """What it was computed from since the step before."""
    above = analysis.flow.upstream([(tensor, before)], lambda op, _: op.index > since)
    return {read for op, _ in above if op.index > since for read in op.inputs}
