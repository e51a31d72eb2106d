"""Updates that are lost: behind the step the program writes the values into a parameter that it had kept before.

It keeps them, perturbs the parameter, and is to restore them before the step. What it kept for the sake of the steps
themselves (an unrolled optimizer, a trial of a learning rate) it takes without a perturbation, and of all parameters.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.restored import taken
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD


class Undone(Struct, frozen=True):
    """``kept`` copied the parameters, ``perturbed`` wrote to them, ``step`` moved them, ``restored`` took that back."""

    tensors: tuple[int, ...]
    kept: Op
    perturbed: Op
    step: Step
    restored: Op


def undone_updates(analysis: Analysis) -> Iterator[Undone]:
    """The first time for each line that restores."""
    capture = analysis.capture
    by_storage = {
        capture.tensors[t].storage: t for t in analysis.optimized_trainable if capture.tensors[t].storage >= 0
    }
    found: dict[tuple[int, int], dict[int, tuple[Op, Op, Step, Op]]] = {}
    for op in capture.ops if capture.steps else ():
        if op.has(_ASIDE):
            continue
        for write in op.writes:
            tensor = by_storage.get(write.storage, -1)
            kept = taken(analysis, op, write) if tensor >= 0 else None
            step = _step_between(analysis, tensor, kept, op) if kept is not None else None
            perturbed = _perturbed(analysis, tensor, kept, step) if kept is not None and step is not None else None
            if kept is not None and step is not None and perturbed is not None:
                found.setdefault((op.site, step.op), {})[tensor] = kept, perturbed, step, op
    told: set[int] = set()
    for (site, _), tensors in found.items():
        kept, perturbed, step, restored = next(iter(tensors.values()))
        moved = {p.tensor for p in step.parameters if p.version_after > p.version_before}
        if site not in told and not moved <= tensors.keys():
            told.add(site)
            yield Undone(tuple(tensors), kept, perturbed, step, restored)


def _step_between(analysis: Analysis, tensor: int, kept: Op, restored: Op) -> Step | None:
    """The only step that moved the parameter since it was kept."""
    steps = [
        step
        for step in analysis.timeline.steps.within(kept.index, restored.index)
        if any(p.tensor == tensor and p.version_after > p.version_before for p in step.parameters)
    ]
    return steps[0] if len(steps) == 1 and not steps[0].error else None


def _perturbed(analysis: Analysis, tensor: int, kept: Op, step: Step) -> Op | None:
    """What wrote to the parameter when it had been kept, before the step."""
    storage = analysis.capture.tensors[tensor].storage
    writes = (op for op, _ in analysis.writes_to(storage, tensor, kept.index + 1, step.op))
    return next((op for op in writes if not op.has(_ASIDE)), None)
