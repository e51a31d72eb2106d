"""AG110: transforms of torch.func that refuse what they are to transform."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import layer_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import RandomUnderVmap
from autograd_inspector.model.torch_errors import TorchError, says


def check(analysis: Analysis) -> Iterator[Problem]:
    """A torch.func transform that refuses what the function does: random ops under `vmap` without `randomness=`.

    Why it matters
        `vmap` runs the function once for all samples, so it has to know whether all of them share one dropout mask. The
        error is raised at the random op, which may be far away from the call of `vmap`.

    Example
        ::

            per_sample = torch.vmap(lambda x: F.dropout(net(x)))
            per_sample(batch)

    Fix
        ::

            per_sample = torch.vmap(lambda x: F.dropout(net(x)), randomness="different")
            per_sample(batch)

    References
        torch.func.vmap (randomness); "torch.func whirlwind tour" in the PyTorch documentation.
    """
    if says(analysis.capture.error, TorchError.VMAP_RANDOM):
        for event in analysis.capture.events_of(RandomUnderVmap)[-1:]:
            yield _random(analysis, event)
    if says(analysis.capture.error, TorchError.FUNCTION_NOT_SCALAR):
        yield from _not_scalar(analysis)


def _not_scalar(analysis: Analysis) -> Iterator[Problem]:
    """torch.func.grad of a function that returns more than one number."""
    capture = analysis.capture
    last = next((op for op in reversed(capture.ops) if op.outputs and not op.error), None)
    shape = list(capture.tensors[last.outputs[0]].shape) if last is not None else []
    made = analysis.user_frames(last.site, "last op of the function") if last is not None and shape else ()
    yield Problem(
        "error",
        "torch.func.grad differentiates functions that return a single number, and this one returns "
        + (f"a tensor of shape {shape}" if shape else "something else"),
        "Reduce what the function returns (`.sum()`, `.mean()`), or use torch.func.jacrev or torch.func.vjp.",
        dedupe_locations([*made, *analysis.user_frames(capture.error_site, "transformed function called here")]),
        ("torch.func.grad",),
    )


def _random(analysis: Analysis, event: RandomUnderVmap) -> Problem:
    op = next((op for op in reversed(analysis.capture.ops) if says(op.error, TorchError.VMAP_RANDOM)), None)
    what = (
        f"`{op.name}`{_in_layer(analysis, op)} draws random numbers" if op is not None else "random numbers are drawn"
    )
    site = op.site if op is not None else analysis.capture.error_site
    return Problem(
        "error",
        f"{what} under torch.vmap, which was not given randomness=",
        'Pass `randomness="different"` to vmap for a random draw of each sample, or `randomness="same"` for one that all '
        "samples share.",
        dedupe_locations(
            [
                *analysis.user_frames(event.site, "made by vmap here"),
                *analysis.user_frames(site, "random op called here"),
            ]
        ),
        ("torch.vmap", *([op.name] if op is not None else [])),
        ops=(op.index,) if op is not None else (),
    )


def _in_layer(analysis: Analysis, op: Op) -> str:
    layer = layer_of(analysis, op)
    return f" in {layer}" if layer else ""
