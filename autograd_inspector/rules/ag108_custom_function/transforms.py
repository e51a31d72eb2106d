"""AG108 where a transform of torch.func refuses a custom Function."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import FunctionRefused
from autograd_inspector.model.torch_errors import TorchError, says


def refused_by_transforms(analysis: Analysis) -> Iterator[Problem]:
    """A Function that is written as ``forward(ctx, ...)``, called under vmap, grad or another transform."""
    if not says(analysis.capture.error, TorchError.SETUP_CONTEXT_MISSING):
        return
    for event in analysis.capture.events_of(FunctionRefused)[-1:]:
        name = event.function
        calls = [op for op in analysis.capture.ops if op.has(Trait.FUNCTION) and op.error and op.index == event.at]
        yield Problem(
            "error",
            f"torch.func cannot transform {name}: its forward takes ctx, and no setup_context is defined",
            f"Define `{name}.forward` without ctx, move what it saves to a static method `setup_context(ctx, inputs, output)`, "
            "and set `generate_vmap_rule = True` for vmap.",
            analysis.places((event, "forward is defined here"), *((op, "applied here") for op in calls)),
            (name,),
            ops=tuple(op.index for op in calls),
        )
