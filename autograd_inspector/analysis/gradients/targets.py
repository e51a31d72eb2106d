"""Parameters that a loss reaches through its target alone, of modules in eval mode, beside others in train mode."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op


class TrainedTarget(Struct, frozen=True):
    """``tensors`` learn from the target of ``op`` alone; ``use`` is the first op that reads one of them for it."""

    tensors: tuple[int, ...]
    op: Op
    use: Op
    run: Backward


def trained_targets(analysis: Analysis) -> Iterator[TrainedTarget]:
    """The last time that a step learns like that."""
    capture = analysis.capture
    run = next(analysis.timeline.backwards.before(len(capture.ops) + 1), None)
    losses = [op for op in ops_of(capture, OpKind.TARGETED) if len(op.inputs) > 1]
    targets = {op.inputs[1]: op for op in losses if _learns(analysis, op)}
    if run is None or not targets:
        return
    starts = [(root, run.start) for root in run.roots]
    met = {op.index for op, _ in analysis.flow.upstream(starts)}
    reached = analysis.optimized_trainable & frozenset(run.reached)
    sides: dict[bool, dict[int, Op]] = {True: {}, False: {}}
    """Whether it is of a target -> parameter -> an op that reads it."""
    used = [(target, op.index) for target, op in targets.items() if op.index in met]
    for target, walk in (
        (True, analysis.flow.upstream(used)),
        (False, analysis.flow.upstream(starts, ends=targets.__contains__)),
    ):
        for op, _ in walk:
            for tensor in op.inputs if op.recorded else ():  # What initialises it records nothing.
                if tensor in reached:
                    sides[target][tensor] = op
    alone = tuple(tensor for tensor in sides[True] if tensor not in sides[False])
    evaluating = [_mode(analysis, sides[True][tensor]) is False for tensor in alone]
    if alone and all(evaluating) and any(_mode(analysis, op) for op in sides[False].values()):
        first = min((sides[True][tensor] for tensor in alone), key=lambda op: op.index)
        yield TrainedTarget(alone, targets[used[-1][0]], first, run)


def _learns(analysis: Analysis, op: Op) -> bool:
    """Whether the target may have a gradient."""
    return analysis.capture.tensors[op.inputs[1]].requires_grad


def _mode(analysis: Analysis, op: Op) -> bool | None:
    """Whether the module that an op runs in was called in train mode; None outside of modules."""
    return analysis.capture.calls[op.call].training if op.call >= 0 else None
