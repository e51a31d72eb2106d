"""Gradients that were asked of autograd for one parameter and assigned to another one, which the same step moves.

Two lists of which one has an entry less are zipped: each parameter gets the gradient of the next one. Whose a gradient
is, the call tells that returned it: torch.func.grad() is given what shares the memory of the parameters. A worker's or
a clone's gradient, which is handed to the model, is for a parameter that this step does not move.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.returned_only import TRANSFORM
from autograd_inspector.analysis.memory.came_from import CameFrom
from autograd_inspector.model.event import GradWrite, Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import FunctionDifferentiated

_ASKED = "torch.autograd.grad()"
_Owned = tuple[int, Op, str]


class GivenToAnother(Struct, frozen=True):
    """``write`` assigned the gradient that ``asked`` computed for ``owner``; ``others`` fare alike at that line.

    ``call``: torch.autograd.grad() or torch.func.grad().
    """

    write: GradWrite
    owner: int
    asked: Op
    step: Step
    others: int = 0
    call: str = _ASKED


def given_to_another(analysis: Analysis) -> Iterator[GivenToAnother]:
    """The first one of each line that assigns them."""
    capture = analysis.capture
    writes = [write for write in capture.grad_writes if write.gradient >= 0]
    owners, origins = {**_owners(analysis), **_owners_outside(analysis)} if writes else {}, CameFrom(capture)
    by_line: dict[object, list[GivenToAnother]] = {}
    for write in writes if owners else ():
        owner, asked, call = owners.get(origins.storage(write.gradient), (-1, None, ""))
        step = _step(analysis, write) if asked is not None and owner != write.tensor else None
        if asked is not None and step is not None and _wrong(analysis, write, owner, step):
            found = GivenToAnother(write, owner, asked, step, call=call)
            by_line.setdefault(line_of(analysis, write.site), []).append(found)
    for alike in by_line.values():
        yield replace(alike[0], others=len({found.write.tensor for found in alike}) - 1)


def _owners(analysis: Analysis) -> dict[int, _Owned]:
    """Memory of a gradient that torch.autograd.grad() returned -> whose it is, and the call."""
    capture = analysis.capture
    found: dict[int, _Owned] = {}
    for run in capture.backwards:
        op = capture.ops[run.start] if run.api == "grad" and not run.error and run.start < len(capture.ops) else None
        if op is not None and op.name == "grad" and len(op.outputs) == len(run.reached):
            for gradient, owner in zip(op.outputs, run.reached, strict=True):
                found[capture.tensors[gradient].storage] = owner, op, _ASKED
    found.pop(-1, None)
    return found


def _owners_outside(analysis: Analysis) -> dict[int, _Owned]:
    """Memory of a gradient as it came out of torch.func.grad() -> the parameter that it is for, and the call."""
    capture = analysis.capture
    parameters = {capture.tensors[t].storage: t for t in analysis.optimized_trainable}
    found: dict[int, _Owned] = {}
    for event in capture.events_of(FunctionDifferentiated):
        op = capture.ops[event.at] if event.at < len(capture.ops) else None
        if op is None or len(op.outputs) != len(event.tensors):
            continue
        for gradient, given in zip(op.outputs, event.tensors, strict=True):
            owner = parameters.get(capture.tensors[given].storage, -1)
            outside = [capture.ops[at] for at in capture.readers.get(gradient, ()) if capture.ops[at].name == TRANSFORM]
            if owner >= 0 and len(outside) == 1 and outside[0].outputs:
                found[capture.tensors[outside[0].outputs[0]].storage] = owner, op, event.api
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
