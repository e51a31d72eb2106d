"""Gradients of one loss after the other that the program reads and combines, and that are running sums.

Surgery on the gradients of several tasks (PCGrad, MGDA) reads the `.grad` after the backward of each. Where nothing
cleared it in between, each holds the gradients of all losses before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import writes_into
from autograd_inspector.analysis.gradients.terms import terms_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead, ParameterStep, Step
from autograd_inspector.model.op import Op


class Reading(Struct, frozen=True):
    """The program read a ``.grad`` after ``run`` had added to it, and ``taken`` its value; ``end``: the next backward."""

    read: GradRead
    run: Backward
    taken: Op
    end: int


class ReadSum(Struct, frozen=True):
    """``step`` uses a gradient that was combined from readings, of which ``later`` contains ``earlier``.

    ``earlier`` is None where it contains what the step before had used.
    """

    step: Step
    tensor: int
    earlier: Reading | None
    later: Reading


def read_sums(analysis: Analysis) -> Iterator[ReadSum]:
    """Each parameter of each step once."""
    if not analysis.capture.grad_reads:
        return
    last: dict[int, int] = {}
    for step in analysis.capture.steps:
        since = last.get(step.optimizer, -1)
        last[step.optimizer] = step.at
        for parameter in step.parameters if not (step.computed or step.error) else ():
            if (
                parameter.gradient >= 0
                and len(analysis.timeline.backwards_to(parameter.tensor).places(since + 1, step.at)) > 1
            ):
                found = _sum(analysis, step, parameter, since)
                if found is not None:
                    yield found


def _sum(analysis: Analysis, step: Step, parameter: ParameterStep, since: int) -> ReadSum | None:
    readings = list(_readings(analysis, parameter.tensor, since + 1, step.at))
    pairs = [pair for pair in pairwise(readings) if _adds(analysis, parameter.tensor, *pair)]
    old = [
        first
        for first in readings[:1]
        if since >= 0 and len(readings) > 1 and _is_old(analysis, parameter, since, first)
    ]
    starts = _combined(analysis, parameter, since + 1, step.at) if pairs or old else []
    terms = terms_of(analysis, starts, [(each.read.gradient, each.read.at, each.end) for each in readings])
    for first in old:
        if 0 in terms:
            return ReadSum(step, parameter.tensor, None, first)
    for earlier, later in pairs:
        if {readings.index(earlier), readings.index(later)} <= terms:
            return ReadSum(step, parameter.tensor, earlier, later)
    return None


def _readings(analysis: Analysis, tensor: int, start: int, end: int) -> Iterator[Reading]:
    """What the program took of a ``.grad`` between two steps, one reading a backward."""
    runs = analysis.timeline.backwards_to(tensor).within(start, end)
    for run, following in zip(runs, [*(each.start for each in runs[1:]), end], strict=True):
        for read in analysis.timeline.reads_of(tensor).within(run.end, following):
            taken = None if read.asks or read.clips >= 0 else _taken(analysis, read, following)
            if taken is not None:
                yield Reading(read, run, taken, following)
                break


def _taken(analysis: Analysis, read: GradRead, end: int) -> Op | None:
    """The op that took the gradient, or a view of it, before the next backward added to it."""
    capture, todo, taking = analysis.capture, [read.gradient], list[int]()
    for shown in todo:
        for at in capture.readers.get(shown, ()):
            if read.at <= at < end:
                op = capture.ops[at]
                if is_a(op.name, OpKind.VIEWS):
                    todo += [made for made in op.outputs if made not in todo]
                else:
                    taking.append(at)
    return capture.ops[min(taking)] if taking else None


def _adds(analysis: Analysis, tensor: int, earlier: Reading, later: Reading) -> bool:
    """Whether the second backward added to what the first had left.

    A gradient that the program assigned or changed in between is one that it keeps as a running sum on purpose.
    """
    if earlier.run.index == later.run.index or tensor not in analysis.timeline.stale(later.run):
        return False
    start, end = earlier.taken.index + 1, later.run.start
    return (
        not clearings(analysis, (tensor,), start, end)
        and not analysis.timeline.writes_of(tensor).places(start, end)
        and not any(True for _ in writes_into(analysis, earlier.read.gradient, start, end))
    )


def _is_old(analysis: Analysis, parameter: ParameterStep, since: int, first: Reading) -> bool:
    """Whether the first backward after a step added to the gradient that this had used."""
    tensor, start = parameter.tensor, first.run.start
    if tensor not in analysis.timeline.stale(first.run) or clearings(analysis, (tensor,), since, start):
        return False
    writes = analysis.timeline.writes_of(tensor).within(since + 1, start)
    return not writes and not any(True for _ in writes_into(analysis, first.read.gradient, since + 1, start))


def _combined(analysis: Analysis, parameter: ParameterStep, start: int, end: int) -> list[tuple[int, int]]:
    """Where the gradient that the step uses comes from, where the program made it: assigned it, or copied it in."""
    assigned = [
        write for write in analysis.timeline.writes_of(parameter.tensor).within(start, end) if write.gradient >= 0
    ]
    copied = [
        op for op, _ in writes_into(analysis, parameter.gradient, start, end) if is_a(op.name, OpKind.COPIES_INTO)
    ]
    starts = [(write.gradient, write.at) for write in assigned[-1:]]
    return starts + [(tensor, op.index) for op in copied[-1:] for tensor in op.inputs if tensor != parameter.gradient]
