"""Optimizers that hooks step within backward(): each gradient is used as soon as it is there, and adds up with no other."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait


class SteppedWithin(Struct, frozen=True):
    """``steps`` of the last run of all ``runs`` at one line; each of them stepped the same parameters within.

    ``divided``: the op that divided the loss by a number last of all.
    """

    runs: tuple[Backward, ...]
    steps: tuple[Step, ...]
    divided: Op


def stepped_within(analysis: Analysis) -> Iterator[SteppedWithin]:
    """One for each line that calls backward() on such a loss, where each time all that it reaches is stepped within."""
    capture = analysis.capture
    if not any(capture.ops[step.op].has(Trait.BACKWARD) for step in capture.steps if step.op >= 0):
        return
    by_site: dict[int, list[Backward]] = {}
    for run in capture.completed_runs:
        if run.api == "backward" and run.nested_in < 0:
            by_site.setdefault(run.site, []).append(run)
    for runs in by_site.values():
        steps = [_within(analysis, run) for run in runs]
        divided = [_divided(analysis, run) for run in runs]
        last = divided[-1]
        if len(runs) > 1 and all(steps) and all(divided) and last is not None:
            yield SteppedWithin(tuple(runs), tuple(steps[-1]), last)


def _within(analysis: Analysis, run: Backward) -> list[Step]:
    """The steps within a run, where they moved all that it reached of what optimizers hold."""
    ops = analysis.capture.ops
    within = [step for step in analysis.timeline.steps.within(run.start, run.end) if ops[step.op].has(Trait.BACKWARD)]
    moved = {p.tensor for step in within for p in step.parameters if p.gradient >= 0}
    return within if moved >= analysis.capture.optimized.intersection(run.reached) else []


def _divided(analysis: Analysis, run: Backward) -> Op | None:
    """The op that made the loss, if it divides one by a plain number."""
    made = [analysis.flow.birth(root) for root in run.roots]
    by_number = [op for op in made if op is not None and is_a(op.name, OpKind.DIVIDES) and len(op.inputs) == 1]
    return by_number[0] if len(made) == len(by_number) == 1 else None
