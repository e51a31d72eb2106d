"""Parameters that are converted to fewer bits and back between two steps: they come back rounded.

Who computes the gradients in fewer bits converts as well, for each step: there a backward runs in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op


class RoundedForAWhile(Struct, frozen=True):
    """``lowered`` gave ``tensors`` values of ``dtype``, ``raised`` the same ones in more bits; ``step`` goes on with these."""

    tensors: tuple[int, ...]
    dtype: str
    lowered: Op
    raised: Op
    step: Step


def rounded_for_a_while(analysis: Analysis) -> Iterator[RoundedForAWhile]:
    """One for each line that converts to fewer bits."""
    found: dict[int, list[tuple[int, Op, Op, Step]]] = {}
    converting = {write.tensor for op in writing(analysis.capture) if assigns(op) for write in op.writes}
    steps = _steps(analysis, analysis.optimized_trainable & converting)
    for tensor in sorted(steps):
        pair = _rounded(analysis, tensor, steps[tensor])
        if pair is not None:
            found.setdefault(pair[0].site, []).append((tensor, *pair))
    for each in found.values():
        _, lowered, raised, step = each[0]
        dtype = analysis.capture.tensors[lowered.inputs[0]].dtype
        yield RoundedForAWhile(tuple(tensor for tensor, *_ in each), dtype, lowered, raised, step)


def _steps(analysis: Analysis, tensors: frozenset[int]) -> dict[int, list[Step]]:
    """The steps of each of these, in their order."""
    steps: dict[int, list[Step]] = {}
    for step in analysis.capture.steps if tensors else ():
        for parameter in step.parameters:
            if parameter.tensor in tensors:
                steps.setdefault(parameter.tensor, []).append(step)
    return steps


def _rounded(analysis: Analysis, tensor: int, steps: list[Step]) -> tuple[Op, Op, Step] | None:
    """(to fewer bits, back, the step that goes on), the first time."""
    for before, after in pairwise(steps):
        storage = analysis.capture.tensors[tensor].storage
        writes = [
            op for op, write in analysis.writes_to(storage, tensor, before.op + 1, after.op) if write.tensor == tensor
        ]
        if len(writes) == 2 and all(_converts(analysis, op, tensor) for op in writes):
            lowered, raised = writes
            low, high = (_bits(analysis, op.inputs[0]) for op in writes)
            runs = analysis.timeline.backwards.within(lowered.index, raised.index)
            if 0 < low < high and not any(tensor in run.reached for run in runs):
                return lowered, raised, after
    return None


def _converts(analysis: Analysis, op: Op, tensor: int) -> bool:
    """Whether an op gives a parameter its own values in another dtype."""
    if not assigns(op) or len(op.inputs) != 1:
        return False
    made = analysis.flow.birth(op.inputs[0])
    return made is not None and is_a(made.name, OpKind.CONVERTS) and tensor in made.inputs


def _bits(analysis: Analysis, tensor: int) -> int:
    digits = "".join(c for c in analysis.capture.tensors[tensor].dtype if c.isdigit())
    return int(digits) if digits else 0
