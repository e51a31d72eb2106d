"""Gradients that were asked of autograd for one parameter and assigned to another one, which the same step moves.

Two lists of which one has an entry less are zipped: each parameter gets the gradient of the next one. Whose a gradient
is, the call tells that returned it. A worker's or a clone's gradient, which is handed to the model, is for a parameter
that this step does not move.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.memory.came_from import CameFrom
from autograd_inspector.model.event import GradWrite, Step
from autograd_inspector.model.op import Op


class GivenToAnother(Struct, frozen=True):
    """``write`` assigned the gradient that ``asked`` computed for ``owner``; ``others`` fare alike at that line."""

    write: GradWrite
    owner: int
    asked: Op
    step: Step
    others: int = 0


def given_to_another(analysis: Analysis) -> Iterator[GivenToAnother]:
    """The first one of each line that assigns them."""
    capture = analysis.capture
    writes = [write for write in capture.grad_writes if write.gradient >= 0]
    owners, origins = _owners(analysis) if writes else {}, CameFrom(capture)
    by_line: dict[object, list[GivenToAnother]] = {}
    for write in writes if owners else ():
        owner, asked = owners.get(origins.storage(write.gradient), (-1, None))
        step = _step(analysis, write) if asked is not None and owner != write.tensor else None
        if asked is not None and step is not None and _wrong(analysis, write, owner, step):
            found = GivenToAnother(write, owner, asked, step)
            by_line.setdefault(line_of(analysis, write.site), []).append(found)
    for alike in by_line.values():
        yield replace(alike[0], others=len({found.write.tensor for found in alike}) - 1)


def _owners(analysis: Analysis) -> dict[int, tuple[int, Op]]:
    """Memory of a gradient that torch.autograd.grad() returned -> whose it is, and the call."""
    capture = analysis.capture
    found: dict[int, tuple[int, Op]] = {}
    for run in capture.backwards:
        op = capture.ops[run.start] if run.api == "grad" and not run.error and run.start < len(capture.ops) else None
        if op is not None and op.name == "grad" and len(op.outputs) == len(run.reached):
            for gradient, owner in zip(op.outputs, run.reached, strict=True):
                found[capture.tensors[gradient].storage] = owner, op
    found.pop(-1, None)
    return found


def _step(analysis: Analysis, write: GradWrite) -> Step | None:
    """The next step of an optimizer that has the parameter."""
    timeline = analysis.timeline
    steps = (next(timeline.steps_of(n).since(write.at), None) for n in timeline.holders((write.tensor,)))
    return min(filter(None, steps), key=lambda step: step.at, default=None)


def _wrong(analysis: Analysis, write: GradWrite, owner: int, step: Step) -> bool:
    """Whether that step moves both, the owner without this gradient of its own."""
    tensors, gradients = analysis.capture.tensors, {p.tensor: p.gradient for p in step.parameters}
    return (
        owner in gradients
        and gradients.get(write.tensor) == write.gradient
        and gradients[owner] != write.gradient
        and tensors[owner].storage != tensors[write.tensor].storage
    )
