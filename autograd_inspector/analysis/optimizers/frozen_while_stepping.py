"""Optimizers that go on stepping after all that they hold was frozen, and never thawed.

A loss is computed from what they hold, and nothing differentiates it: it does not require grad, or is differentiated
for nothing that a step moves, the inputs of a penalty. A phase that is over, an early-stopped member or a backbone that
is held leaves no such loss: what it computes goes into the losses of others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.optimizers.turns_in_vain import all_frozen
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.placement_rows import OptimizerRecord

_FEWEST = 2
"""So many steps with everything frozen are no end of a phase."""


class FrozenWhileStepping(Struct, frozen=True):
    """``steps``: those since all of ``optimizer``'s parameters are frozen, which it had trained before."""

    optimizer: OptimizerRecord
    steps: tuple[Step, ...]


def frozen_while_stepping(analysis: Analysis) -> Iterator[FrozenWhileStepping]:
    """Each optimizer once. One that found gradients left over moves them, and is no idle one."""
    for optimizer in analysis.capture.placement.optimizers:
        steps = analysis.timeline.steps_of(optimizer.id).all
        idle = tuple(takewhile(all_frozen, reversed(steps)))[::-1]
        if (
            len(idle) >= _FEWEST
            and _trained(analysis, optimizer, tuple(steps[: len(steps) - len(idle)]))
            and _computed_in_vain(analysis, optimizer, idle)
        ):
            yield FrozenWhileStepping(optimizer, idle)


def _trained(analysis: Analysis, optimizer: OptimizerRecord, before: tuple[Step, ...]) -> bool:
    """Whether it moved them, as long as they required grad; of folded steps the freezing tells."""
    if any(p.gradient >= 0 and not p.frozen for step in before for p in step.parameters):
        return True
    return any(change.folded for change in analysis.lifecycle.frozen(optimizer.held))


def _computed_in_vain(analysis: Analysis, optimizer: OptimizerRecord, idle: tuple[Step, ...]) -> bool:
    """Whether a forward of what it holds, in train mode, was for none of the losses that backward() is called on."""
    changes = analysis.lifecycle.frozen(optimizer.held)
    since, ops = max((change.at for change in changes), default=0), analysis.capture.ops
    starts = {at for tensor in optimizer.held for at in analysis.capture.readers.get(tensor, ())}
    leads: dict[int, bool] = {}
    vain = _differentiated_in_vain(analysis)
    return any(
        _plain(analysis, ops[at]) and not _leads_to_a_graph(analysis, ops[at], leads, vain)
        for at in sorted(starts)
        if since <= at < idle[-1].at
    )


def _plain(analysis: Analysis, op: Op) -> bool:
    """Whether it is a part of a forward that could be trained, and has no graph."""
    capture = analysis.capture
    if op.recorded or op.has(Trait.STEP | Trait.BACKWARD) or op.writes or not op.outputs:
        return False
    if op.call < 0 or is_a(op.name, OpKind.VIEWS | OpKind.COPIES | OpKind.DETACHES):
        return False
    return capture.regions[op.region].kind == "enabled" and capture.calls[op.call].training


def _differentiated_in_vain(analysis: Analysis) -> frozenset[int]:
    """The ops in graphs of which each backward stored gradients alone that no step uses and the program does not read."""
    useful, vain = set[int](), set[int]()
    used = analysis.optimized_trainable | {read.tensor for read in analysis.capture.grad_reads}
    for run in analysis.capture.backwards:
        ops = {node.op for node in analysis.nodes_of(run) if node.op >= 0}
        (vain if run.completed and used.isdisjoint(run.reached) else useful).update(ops)
    return frozenset(vain - useful)


def _leads_to_a_graph(analysis: Analysis, start: Op, known: dict[int, bool], vain: frozenset[int]) -> bool:
    """Whether something that autograd records, and not in vain, was computed from its result."""
    capture, passed, todo = analysis.capture, [], [start]
    seen = {start.index}
    while todo:
        op = todo.pop()
        passed.append(op.index)
        if (op.recorded and op.index not in vain) or known.get(op.index, False):
            known.update(dict.fromkeys((start.index, op.index), True))
            return True
        for tensor in op.outputs if op.index not in known else ():
            for at in capture.readers.get(tensor, ()):
                if at > op.index and at not in seen and not capture.ops[at].has(Trait.STEP):
                    seen.add(at)
                    todo.append(capture.ops[at])
    known.update(dict.fromkeys(passed, False))
    return False
