"""Leaves that were computed once from an optimizer's parameters, and that learn in their place: stacked for ``vmap``."""

from __future__ import annotations

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture

_HANDING_ON = OpKind.DETACHES | OpKind.REWRAPS | OpKind.COPIES | OpKind.CONVERTS | OpKind.STACKS
_DEEPEST = 6


def stood_in(capture: Capture, flow: DataFlow) -> dict[int, tuple[int, ...]]:
    """Leaf that no optimizer has, and that several backwards reach -> the parameters it has the values of, two or more.

    One that was copied from a single parameter is that one's replacement. No backward reaches those, which an optimizer steps. What the program reads the gradient of it moves itself.
    """
    counts: dict[int, int] = {}
    for run in capture.completed_runs:
        for tensor in run.reached:
            counts[tensor] = counts.get(tensor, 0) + 1
    read = {each.tensor for each in capture.grad_reads}
    stepped = {tensor for optimizer in capture.placement.optimizers if optimizer.steps for tensor in optimizer.held}
    found: dict[int, tuple[int, ...]] = {}
    for tensor, count in counts.items():
        record = capture.tensors[tensor]
        if count > 1 and tensor not in capture.optimized and tensor not in read and record.requires_grad:
            origins = _origins(capture, flow, tensor)
            if len(origins) > 1 and stepped.issuperset(origins) and counts.keys().isdisjoint(origins):
                found[tensor] = origins
    return found


def _origins(capture: Capture, flow: DataFlow, tensor: int) -> tuple[int, ...]:
    """The parameters whose values a tensor got, by copies alone; none for anything that was computed."""
    front, origins = [tensor], dict[int, None]()
    for _ in range(_DEEPEST):
        behind: list[int] = []
        for each in front:
            made = flow.birth(each)
            if capture.tensors[each].kind == "parameter" and each != tensor:
                origins[each] = None
            elif made is None or not is_a(made.name, _HANDING_ON) or not made.inputs or made.writes:
                return ()
            else:
                behind += made.inputs
        front = behind
    return () if front else tuple(origins)
