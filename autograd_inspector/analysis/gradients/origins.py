"""In a few words, where the gradient comes from with which each parameter was last stepped."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.model.capture import Capture

_NAMED = 4
"""So many losses are named."""


def gradient_origins(capture: Capture) -> dict[int, str]:
    """Parameter -> "from `d_loss` (train.py:31) and `g_loss` (train.py:40), not cleared between".

    Of each the last step of the capture that met a gradient of it; nothing where none did, or where it is not known.
    """
    analysis = Analysis(capture)
    sources = GradientSources(analysis)
    origins: dict[int, str] = {}
    for step in reversed(capture.steps):
        for parameter in step.parameters:
            if parameter.gradient >= 0 and parameter.tensor not in origins:
                origins[parameter.tensor] = _said(analysis, sources.consumed(step, parameter))
    return {tensor: said for tensor, said in origins.items() if said}


def _said(analysis: Analysis, consumed: Consumed) -> str:
    replaced = consumed.beginning == "replaced"
    if not consumed.contributions:
        return "assigned by the program" if replaced else ""
    losses: dict[str, int] = {}
    for contribution in consumed.contributions:
        name = _loss(analysis, contribution)
        losses[name] = losses.get(name, 0) + 1
    said = f"from {_together([f'{name} ×{times}' if times > 1 else name for name, times in losses.items()])}"
    if replaced:
        said += ", added to what the program had assigned"
    elif consumed.beginning == "older":
        said += ", added to an older gradient"
    return said + (", not cleared between" if len(consumed.contributions) > 1 else "")


def _together(names: list[str]) -> str:
    """``a, b and c``, or ``a, b and 3 more``."""
    first = names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1:,} more"]
    return " and ".join(filter(None, [", ".join(first[:-1]), first[-1]]))


def _loss(analysis: Analysis, contribution: Contribution) -> str:
    """The loss that backward() was called on, and the line of that call."""
    capture, run = analysis.capture, contribution.run
    variables = (capture.tensors[root].variable for root in run.roots)
    name = next((f"`{variable}`" for variable in variables if variable), "a loss")
    place = capture.place(run.site)
    return name if place is None else f"{name} ({place.place})"
