"""Gradients of one loss after the other that the program reads and combines, and that are running sums.

Surgery on the gradients of several tasks (PCGrad, MGDA) reads the `.grad` after the backward of each. Where nothing
cleared it in between, each holds the gradients of all losses before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import writes_into, zeroed_in_place
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead, ParameterStep, Step
from autograd_inspector.model.op import Op

_HANDED_ON = (
    OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS | OpKind.STACKS | OpKind.CONCATENATES | OpKind.DETACHES
    | OpKind.COPIES_INTO
)  # fmt: skip


class Reading(Struct, frozen=True):
    """The program read a ``.grad`` after ``run`` had added to it; ``taken`` is the op that took its value."""

    read: GradRead
    run: Backward
    taken: Op


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
    above = {op.index: op for op, _ in analysis.flow.upstream(starts)} if starts else {}
    for first in old:
        if first.taken.index in above:
            return ReadSum(step, parameter.tensor, None, first)
    for earlier, later in pairs:
        if {earlier.taken.index, later.taken.index} <= above.keys() and not _taken_apart(
            analysis, above.values(), earlier, later
        ):
            return ReadSum(step, parameter.tensor, earlier, later)
    return None


def _readings(analysis: Analysis, tensor: int, start: int, end: int) -> Iterator[Reading]:
    """What the program took of a ``.grad`` between two steps, one reading a backward."""
    runs = analysis.timeline.backwards_to(tensor).within(start, end)
    for run, following in zip(runs, [*(each.start for each in runs[1:]), end], strict=True):
        for read in analysis.timeline.reads_of(tensor).within(run.end, following):
            taken = None if read.asks or read.clips >= 0 else _taken(analysis, read, following)
            if taken is not None:
                yield Reading(read, run, taken)
                break


def _taken(analysis: Analysis, read: GradRead, end: int) -> Op | None:
    """The op that copied the gradient before the next backward added to it."""
    ops = (analysis.capture.ops[at] for at in analysis.capture.readers.get(read.gradient, ()) if read.at <= at < end)
    return next((op for op in ops if not is_a(op.name, OpKind.VIEWS)), None)


def _adds(analysis: Analysis, tensor: int, earlier: Reading, later: Reading) -> bool:
    """Whether the second backward added to what the first had left."""
    if earlier.run.index == later.run.index or tensor not in analysis.timeline.stale(later.run):
        return False
    start, end = earlier.taken.index + 1, later.run.start
    return not clearings(analysis, (tensor,), start, end) and not zeroed_in_place(
        analysis, [earlier.read.gradient], start, end
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


def _taken_apart(analysis: Analysis, ops: Iterable[Op], earlier: Reading, later: Reading) -> bool:
    """Whether the program subtracts the earlier reading from the later one itself."""
    for op in ops:
        if is_a(op.name, OpKind.SUBTRACTS) and len(op.inputs) == 2:
            sides = [_handed_on(analysis, tensor, op.index) for tensor in op.inputs]
            shown = [
                _shows(analysis, tensor, later.read.gradient) and op.index == later.taken.index for tensor in op.inputs
            ]
            for late, early in ((0, 1), (1, 0)):
                if (later.taken.index in sides[late] or shown[late]) and earlier.taken.index in sides[early]:
                    return True
    return False


def _shows(analysis: Analysis, tensor: int, gradient: int) -> bool:
    """Whether it is that gradient, or a view of it."""
    tensors = analysis.capture.tensors
    return tensor == gradient or tensors[tensor].storage == tensors[gradient].storage >= 0


def _handed_on(analysis: Analysis, tensor: int, before: int) -> set[int]:
    """The ops behind a tensor that only hand values on."""
    return {
        op.index for op, _ in analysis.flow.upstream([(tensor, before)], lambda made, _: is_a(made.name, _HANDED_ON))
    }
