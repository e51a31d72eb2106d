"""Steps that find no gradient, because backward went to copies of what the optimizer holds, which nothing updates."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_FEWEST = 2
"""Rounds: a single one may measure something with a copy."""


class SteppedBesideCopies(Struct, frozen=True):
    """``steps`` of one line met no gradient; each ``run`` before one of them reached ``copies``, made by ``copied``."""

    steps: tuple[Step, ...]
    run: Backward
    copies: tuple[int, ...]
    copied: Op


def stepped_beside_copies(analysis: Analysis) -> Iterator[SteppedBesideCopies]:
    """One for each line that steps. A copy that the program updates itself, or that is stepped, learns."""
    lines: dict[tuple[int, int], list[tuple[Step, Backward]]] = {}
    for step in analysis.capture.steps:
        empty = (
            step.parameters and not step.computed and not step.error and all(p.gradient < 0 for p in step.parameters)
        )
        run = next(analysis.timeline.backwards.before(step.at + 1), None) if empty else None
        before = next(analysis.timeline.steps.before(step.at), None)
        if run is not None and run.completed and run.reached and (before is None or before.at < run.end):
            lines.setdefault((step.site, step.optimizer), []).append((step, run))
    made = _made(analysis) if any(len(rounds) >= _FEWEST for rounds in lines.values()) else {}
    for rounds in lines.values() if made else ():
        steps, runs = zip(*rounds, strict=True)
        copies = set().union(*(run.reached for run in runs))
        held = {analysis.capture.tensors[p.tensor].storage for p in steps[0].parameters}
        storages = [analysis.capture.tensors[tensor].storage for tensor in copies]
        of_held = all(storage in made and made[storage][1] in held for storage in storages)
        if len(steps) >= _FEWEST and of_held and not any(_learns(analysis, t, steps[0]) for t in copies):
            yield SteppedBesideCopies(steps, runs[-1], tuple(sorted(copies)), made[storages[0]][0])


def _made(analysis: Analysis) -> dict[int, tuple[Op, int]]:
    """The memory of a copy -> (what made it, the memory that it was copied from)."""
    tensors = analysis.capture.tensors
    return {
        tensors[made].storage: (op, tensors[op.inputs[0]].storage)
        for op in analysis.capture.ops
        if is_a(op.name, OpKind.COPIES) and op.inputs
        for made in op.outputs
    }


def _learns(analysis: Analysis, tensor: int, first: Step) -> bool:
    if tensor in analysis.capture.optimized:
        return True
    writes = analysis.writes_to(
        analysis.capture.tensors[tensor].storage, tensor, first.start, len(analysis.capture.ops)
    )
    return any(not op.has(Trait.BACKWARD) for op, _ in writes)
