"""Gradients that the program adds to itself, on top of what the step before has used."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import writes_into
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op

_MOST = 200
"""So many sums are looked at behind a gradient."""


def sums_over_steps(analysis: Analysis) -> Iterator[tuple[Step, dict[int, Op]]]:
    """(step, parameter -> the op that added to the gradient of the step before), the first time for each line that steps."""
    told: set[int] = set()
    last: dict[int, Step] = {}
    for step in analysis.capture.steps:
        before = last.get(step.optimizer)
        last[step.optimizer] = step
        if before is None or step.error or step.site in told:
            continue
        added = _added(analysis, before, step)
        if added:
            told.add(step.site)
            yield step, added


def _added(analysis: Analysis, before: Step, step: Step) -> dict[int, Op]:
    """Parameter -> the first op that added to the gradient that the step before had used."""
    used = {parameter.tensor: parameter.gradient for parameter in before.parameters}
    added = {}
    for parameter in step.parameters:
        tensor, old = parameter.tensor, used.get(parameter.tensor, -1)
        if old < 0 or parameter.gradient < 0 or analysis.timeline.backwards_to(tensor).within(before.at, step.at):
            continue
        op = _sum_of(analysis, old, parameter.gradient, before.op, step.op)
        if op is not None and not clearings(analysis, [tensor], before.at, step.at):
            added[tensor] = op
    return added


def _sum_of(analysis: Analysis, old: int, new: int, start: int, end: int) -> Op | None:
    """The op that added to the old gradient, where the new one is a plain sum with it."""
    if old == new:
        writes = [op for op, _ in writes_into(analysis, old, start + 1, end)]
        return writes[0] if writes and all(is_a(op.name, OpKind.ADDS) for op in writes) else None
    todo, met = [new], {new}
    while todo and len(met) < _MOST:
        made = analysis.flow.birth(todo.pop())
        if made is None or made.index <= start or not is_a(made.name, OpKind.ADDS):
            continue
        if old in made.inputs:
            written = any(True for _ in writes_into(analysis, old, start + 1, made.index))
            return None if written else made
        todo += [tensor for tensor in made.inputs if tensor not in met]
        met.update(made.inputs)
    return None
