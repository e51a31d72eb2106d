"""backward() on what is no scalar, or with a gradient of another shape."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.spelling import method_on
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import StartRefused
from autograd_inspector.model.remedy import Operand, Remedies
from autograd_inspector.model.torch_errors import TorchError, says


def refused_starts(analysis: Analysis) -> Iterator[Problem]:
    """The program ended because of it: which tensor, and the op that gave it its shape."""
    no_scalar = says(analysis.capture.error, TorchError.NOT_A_SCALAR)
    if not (no_scalar or says(analysis.capture.error, TorchError.GRAD_OUTPUT_SHAPE)):
        return
    for event in analysis.capture.events_of(StartRefused)[-1:]:
        shapes = [analysis.capture.tensors[tensor].shape for tensor in event.tensors]
        large = [tensor for tensor, shape in zip(event.tensors, shapes, strict=True) if shape != ()]
        for tensor in (large or event.tensors)[:1]:
            yield _finding(analysis, event, tensor, no_scalar=bool(no_scalar))


def _finding(analysis: Analysis, event: StartRefused, tensor: int, *, no_scalar: bool) -> Problem:
    name, made = name_of(analysis, tensor), analysis.flow.birth(tensor)
    shape = list(analysis.capture.tensors[tensor].shape)
    return Problem(
        "error",
        f"backward() starts from {name}, which has shape {shape}, and got no gradient argument: only a scalar has one by default"
        if no_scalar
        else f"the gradient passed to backward() does not have the shape of {name}, which is {shape}",
        f'Reduce it to a scalar first, `{method_on(name, "mean()")}` (or reduction="mean" where a loss function '
        "computes it), or pass a gradient of that shape."
        if no_scalar
        else f"Pass a gradient of shape {shape}: one number for each element of {name}.",
        analysis.places((made, "computed here, with this shape"), (event, "backward called here")),
        (name,),
        ops=(made.index,) if made is not None else (),
        cures=tuple(_averaged(analysis, event)) if no_scalar else (),
    )


def _averaged(analysis: Analysis, event: StartRefused) -> Iterator[Remedies]:
    place = analysis.capture.place(event.site)
    if place is not None and len(event.tensors) == 1:
        yield (Operand(place, "first", "{}.mean()"),)
