"""Turns of an optimizer whose loss is computed while all that it holds is frozen for the turn of another one.

Backward runs, for something else in the graph requires grad (the samples of a penalty), and stores gradients that no
step uses and nothing reads. The step finds none. In its other turns the optimizer trains.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import RequiresGradChanged, Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord


class TurnInVain(Struct, frozen=True):
    """``frozen``: what froze the parameters last before ``run``; ``used``: an op of its graph that reads one of them."""

    optimizer: OptimizerRecord
    step: Step
    run: Backward
    frozen: RequiresGradChanged
    used: Op


def turns_in_vain(analysis: Analysis) -> Iterator[TurnInVain]:
    """Each line that steps once."""
    told: set[int] = set()
    for optimizer in analysis.capture.placement.optimizers:
        steps = analysis.timeline.steps_of(optimizer.id).all
        if not any(p.gradient >= 0 and not p.frozen for step in steps for p in step.parameters):
            continue
        for step in steps:
            found = None if step.site in told or not all_frozen(step) else _in_vain(analysis, optimizer, step)
            if found is not None:
                told.add(step.site)
                yield found


def all_frozen(step: Step) -> bool:
    """Whether nothing that a step met required grad, or had a gradient."""
    parameters = step.parameters
    return not step.error and bool(parameters) and all(p.frozen and p.gradient < 0 for p in parameters)


def _in_vain(analysis: Analysis, optimizer: OptimizerRecord, step: Step) -> TurnInVain | None:
    """The backward right before a step, if it computed for nothing, of what the optimizer holds."""
    before = next(analysis.timeline.steps.before(step.at), None)
    since = before.at if before is not None else -1
    runs = analysis.timeline.backwards.within(since + 1, step.at)
    changes = analysis.lifecycle.frozen(optimizer.held, until=step.at)
    if not runs or not changes or not all(_for_nothing(analysis, run) for run in runs):
        return None
    run = runs[-1]
    ops, held = analysis.capture.ops, frozenset(optimizer.held)
    graph = sorted({node.op for node in analysis.nodes_of(run) if node.op >= 0})
    used = next((ops[at] for at in graph if not held.isdisjoint(ops[at].inputs)), None)
    return TurnInVain(optimizer, step, run, changes[-1], used) if used is not None else None


def _for_nothing(analysis: Analysis, run: Backward) -> bool:
    """Whether no step uses, and the program does not read, what a backward stored."""
    read = any(analysis.timeline.reads_of(tensor).all for tensor in run.reached)
    return bool(run.reached) and not read and analysis.capture.optimized.isdisjoint(run.reached)
