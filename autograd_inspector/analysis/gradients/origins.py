"""Where the gradient comes from with which each parameter was last stepped: from which losses, and what they added to."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.model.capture import Capture


class Loss(Struct, frozen=True):
    """A loss that backward() was called on at ``site``, so many ``times``; ``name`` is the program's, "" unknown."""

    name: str
    site: int
    times: int = 1


class GradientOrigin(Struct, frozen=True):
    """The losses whose gradients add up in one ``.grad``, in their order; none cleared what the one before had left.

    ``added_to``: what the first of them was added to. "" nothing, "older": a gradient of before the step before, or of
    before the capture; "assigned": what the program had put there.
    """

    losses: tuple[Loss, ...]
    added_to: Literal["", "older", "assigned"] = ""


def gradient_origins(capture: Capture) -> dict[int, GradientOrigin]:
    """Parameter -> its origin at the last step of the capture that met a gradient of it, as far as that is known."""
    analysis = Analysis(capture)
    sources = GradientSources(analysis)
    origins: dict[int, GradientOrigin] = {}
    for step in reversed(capture.steps):
        for parameter in step.parameters:
            if parameter.gradient >= 0 and parameter.tensor not in origins:
                origins[parameter.tensor] = _origin(analysis, sources.consumed(step, parameter))
    return {tensor: origin for tensor, origin in origins.items() if origin.losses or origin.added_to == "assigned"}


def _origin(analysis: Analysis, consumed: Consumed) -> GradientOrigin:
    losses: dict[tuple[str, int], Loss] = {}
    for contribution in consumed.contributions:
        name, site = _loss(analysis, contribution), contribution.run.site
        before = losses.get((name, site))
        losses[name, site] = Loss(name, site) if before is None else replace(before, times=before.times + 1)
    if consumed.beginning == "replaced":
        return GradientOrigin(tuple(losses.values()), "assigned")
    return GradientOrigin(tuple(losses.values()), "older" if consumed.beginning == "older" else "")


def _loss(analysis: Analysis, contribution: Contribution) -> str:
    variables = (analysis.capture.tensors[root].variable for root in contribution.run.roots)
    return next((variable for variable in variables if variable), "")
