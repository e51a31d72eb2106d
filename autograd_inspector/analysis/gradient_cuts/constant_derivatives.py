"""Derivatives of derivatives that carry no gradient: ``grad(u_x, x)`` without ``create_graph=True``, in a residual.

The first derivative was made to be differentiated, and the second one stands in a sum with it: the equation's highest
term trains nothing. A derivative of another kind (an attack's direction, the weight of a penalty) is meant as a number.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, is_origin
from autograd_inspector.analysis.gradient_cuts.harmful import stepped_with
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_SUMS = OpKind.ADDS | OpKind.SUBTRACTS
_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.NEGATES | OpKind.VIEWS | OpKind.RESHAPES


def constant_derivatives(capture: Capture, flow: DataFlow, meant: frozenset[int]) -> Iterator[GradientCut]:
    """One cut for each line that asks for such a derivative."""
    leaves = Leaves(capture, flow)
    losses = [run for run in capture.completed_runs if run.nested_in < 0]
    firsts = _First(capture, flow)
    told: set[int] = set()
    for run in capture.backwards:
        if run.api != "grad" or run.create_graph or run.error or run.nested_in >= 0 or run.site in told:
            continue
        op = capture.ops[run.start] if run.start < len(capture.ops) else None
        after = bisect_right(losses, run.start, key=lambda loss: loss.start)
        following = losses[after] if after < len(losses) else None
        if op is None or op.name != "grad" or following is None or not firsts.go_into(run):
            continue
        joined = _joined(capture, op, following)
        stepped = {tensor for held in stepped_with(capture, following) for tensor in held} or meant
        lost = tuple(t for t in leaves.above(op) if t in meant and t in stepped) if joined is not None else ()
        if joined is not None and lost:
            told.add(run.site)
            yield GradientCut("detached", (op,), op.outputs[:1], lost, following, fatal=False, added=joined.index)


class _First:
    """The derivatives that were made to be differentiated: ``grad(u, x, create_graph=True)``."""

    def __init__(self, capture: Capture, flow: DataFlow) -> None:
        self._capture, self._flow = capture, flow
        self._by_start = {run.start: run for run in capture.backwards if run.api == "grad" and run.create_graph}
        self._by_input: dict[int, int] = {}
        """Input -> the op of the earliest derivative by it."""
        for start in sorted(self._by_start, reverse=True):
            self._by_input.update(dict.fromkeys(self._by_start[start].reached, start))

    def go_into(self, run: Backward) -> bool:
        """Whether a derivative by one of the same inputs went into what is differentiated, with its graph."""
        capture, inputs = self._capture, set(run.reached)
        earliest = min((self._by_input[tensor] for tensor in inputs if tensor in self._by_input), default=run.start)
        if earliest >= run.start:
            return False  # Most programs take no second derivative: nothing is to be looked for in their graphs.
        above = self._flow.upstream(
            [(root, run.start) for root in run.roots],
            lambda op, _: op.name != "grad" and op.index > earliest,
            lambda tensor: is_origin(capture, tensor),
        )
        found = (self._by_start.get(op.index) for op, _ in above if op.name == "grad")
        return any(first is not None and not inputs.isdisjoint(first.reached) for first in found)


def _joined(capture: Capture, made: Op, loss: Backward) -> Op | None:
    """The first sum with what carries gradient that its result goes into, scaled perhaps, before the loss."""
    todo, met = list(made.outputs), set(made.outputs)
    while todo:
        tensor = todo.pop()
        for index in capture.readers.get(tensor, ()):
            op = capture.ops[index]
            if not made.index < index < loss.start or op.has(Trait.BACKWARD | Trait.STEP):
                continue
            if any(capture.tensors[t].requires_grad for t in op.outputs):
                if is_a(op.name, _SUMS) and any(capture.tensors[t].requires_grad for t in op.inputs if t != tensor):
                    return op
            elif is_a(op.name, _SUMS | _SCALES):
                todo += [t for t in op.outputs if t not in met]
                met.update(op.outputs)
    return None
