"""Values that were computed from a parameter once, with their graph, and serve round after round while it is stepped.

Where nothing that was computed on the way is needed for backward, autograd raises nothing: the parameter gets a
gradient each time, and the values stay those of its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.carried_over import all_carried_over
from autograd_inspector.analysis.gradients.rebound import rebound
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op

_FEWEST = 2
"""Steps of the parameter since: with one, two losses of one round may share what the first step has left behind."""


class Outdated(Struct, frozen=True):
    """``tensor`` was computed by ``made`` from ``parameters``, before ``steps`` of the first, which ``reader`` comes after.

    The others were stepped between the two as well.
    """

    tensor: int
    parameters: tuple[int, ...]
    made: Op
    reader: Op
    steps: tuple[Step, ...]
    run: Backward


def outdated(analysis: Analysis) -> Iterator[Outdated]:
    """Each line that computed such values once; of the last backward that ended well."""
    runs = [run for run in analysis.timeline.backwards.all if run.completed and run.nested_in < 0]
    if len(runs) <= _FEWEST or not analysis.capture.steps:
        return
    told: set[int] = set()
    last = runs[-1]
    graph = {node.op for node in analysis.nodes_of(last)}
    for reader, tensor in all_carried_over(analysis.capture, analysis.flow, last, runs[-1 - _FEWEST]):
        read: dict[Op, dict[int, tuple[Step, ...]]] = {}
        for op, parameter in _read_by(analysis, tensor, reader.index):
            if reader.index not in graph or op.index not in graph:
                continue  # It is read behind a cut.
            stands_in = rebound(analysis, reader) is not None  # Each round reads what the one before has made of it.
            steps = _steps_between(analysis, parameter, op.index, last.start if stands_in else reader.index)
            if len(steps) >= _FEWEST and op.site not in told:
                read.setdefault(op, {})[parameter] = steps
        for op, stepped in read.items():
            if op.site not in told:
                told.add(op.site)
                yield Outdated(tensor, tuple(stepped), op, reader, next(iter(stepped.values())), last)


def _read_by(analysis: Analysis, tensor: int, before: int) -> Iterator[tuple[Op, int]]:
    """(an op above the tensor that computed new numbers, what it read: a parameter, or a view of one)."""
    capture = analysis.capture
    for op, _ in analysis.flow.upstream([(tensor, before)], lambda o, t: capture.tensors[t].requires_grad):
        if op.recorded and not is_a(op.name, OpKind.VIEWS):
            for read in op.inputs:
                leaf = _shown(analysis, read)
                if leaf in capture.optimized:
                    yield op, leaf


def _shown(analysis: Analysis, tensor: int) -> int:
    """What a tensor is a view of, through views of views; itself, where it is none."""
    made = analysis.flow.birth(tensor)
    while made is not None and is_a(made.name, OpKind.VIEWS) and made.inputs:
        tensor = made.inputs[0]
        made = analysis.flow.birth(tensor)
    return tensor


def _steps_between(analysis: Analysis, parameter: int, start: int, end: int) -> tuple[Step, ...]:
    return tuple(
        step
        for step in analysis.capture.steps
        if start < step.start and step.at < end
        for p in step.parameters
        if p.tensor == parameter and p.gradient >= 0 and p.version_after > p.version_before
    )
