"""AG305 where the program adds to ``.grad`` itself, on top of what the step before has used: a server of clients.

No backward runs through these parameters, so that nothing but the sum itself tells: the gradient of the last step stands
in it, as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.protocol import cleared_after, optimizer_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import writes_into
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.wording import summarize_names

_MOST = 200
"""So many sums are looked at behind a gradient."""


def summed_by_hand(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that steps."""
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
            yield _problem(analysis, step, added)


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


def _problem(analysis: Analysis, step: Step, added: dict[int, Op]) -> Problem:
    names = [name_of(analysis, tensor) for tensor in added]
    return Problem(
        "warning",
        f"{summarize_names(names)} still had the .grad of the previous step when the program added to it, and nothing cleared "
        "it: gradients add up from step to step",
        f"Call `{optimizer_name(analysis, step)}.zero_grad()` right after step().",
        analysis.places(
            (next(iter(added.values())), "added to old gradients here"), (step, "step() uses the sum here")
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(cleared_after(analysis, step)),
    )
