"""Values that left torch, where nothing shows how they came back."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, learning
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait


def left_for_good(
    capture: Capture, flow: DataFlow, run: Backward, starved: frozenset[int] | None
) -> Iterator[GradientCut]:
    """The last value that left torch before a backward from a tensor that nothing meant to learn leads to."""
    since = max((earlier.end for earlier in capture.backwards[: run.index]), default=0)
    for op in reversed(capture.ops[since : run.start]):
        if op.has(Trait.EXPORT):
            starts = [(tensor, op.index) for tensor in op.inputs]
            learning_tensors = [t for above, _ in flow.upstream(starts) for t in learning(capture, above)]
            lost = tuple(dict.fromkeys(t for t in learning_tensors if starved is None or t in starved))
            if lost:
                yield GradientCut("left autograd", (op,), op.inputs[:1], lost, run, fatal=starved is None)
                return


def as_arrays(capture: Capture, flow: DataFlow, run: Backward, starved: frozenset[int]) -> Iterator[GradientCut]:
    """Whole tensors that went to NumPy or a list before the loss took in something that came from outside of torch."""
    latest = _latest_arrival(capture, flow, run) if starved else -1
    groups: dict[int, tuple[list[Op], dict[int, None]]] = {}
    for op in capture.ops[: latest + 1]:
        if is_a(op.name, OpKind.EXTRACTS_WHOLE) and op.has(Trait.EXPORT):
            above = flow.upstream([(tensor, op.index) for tensor in op.inputs])
            lost = [t for o, _ in above for t in learning(capture, o) if t in starved and t not in op.inputs]
            if lost:
                ops, parameters = groups.setdefault(op.site, ([], {}))
                ops.append(op)
                parameters.update(dict.fromkeys(lost))
    for ops, parameters in groups.values():
        yield GradientCut("left autograd", tuple(ops), ops[0].inputs[:1], tuple(parameters), run, fatal=False)


def _latest_arrival(capture: Capture, flow: DataFlow, run: Backward) -> int:
    """The last op of the loss that made a tensor of values, or that met one of unknown origin for the first time."""
    latest = -1
    for op, _ in flow.upstream([(root, run.start) for root in run.roots]):
        records = [capture.tensors[tensor] for tensor in op.inputs]
        new = any(r.kind == "input" and r.birth < 0 and r.first_use == op.index for r in records)
        if new or is_a(op.name, OpKind.REWRAPS):
            latest = max(latest, op.index)
    return latest


def only_left(capture: Capture, run: Backward, starved: frozenset[int]) -> Iterator[GradientCut]:
    """Parameters that were never used but as a Python number: ``x * math.exp(self.log_scale.item())``."""
    readers: dict[int, list[Op]] = {tensor: [] for tensor in starved}
    for op in capture.ops:
        if not op.has(Trait.STEP) and not op.writes and not is_a(op.name, OpKind.PICKLES):
            for tensor in starved.intersection(op.inputs):
                readers[tensor].append(op)
    exports = [*having(capture, Trait.EXPORT)]
    for tensor, ops in sorted(readers.items()):
        views = {output for op in ops if is_a(op.name, OpKind.DETACHES) for output in op.outputs}
        out = [op for op in exports if tensor in op.inputs or views.intersection(op.inputs)]
        if out and all(op.has(Trait.EXPORT) or is_a(op.name, OpKind.DETACHES) for op in ops):
            yield GradientCut("left autograd", tuple(out), (tensor,), (tensor,), run, fatal=False)
