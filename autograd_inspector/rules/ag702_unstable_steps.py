"""AG702: gradients that grow out of bounds over the steps, and steps that replace the weights."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.vitals.growth import Churn, Growth, churn_of, growth_of
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.vitals import ParameterVitals


def check(analysis: Analysis) -> Iterator[Problem]:
    """Gradients grow ten-thousandfold, or steps change the weights by a third. Needs `values=True`.

    Why it matters
        In healthy training, a step changes the weights by about a thousandth. If the learning rate is too large, or the
        warm-up too short, each step undoes the previous ones: the loss jumps, gradients grow, and finally become NaN.

    Example
        ::

            optimizer = torch.optim.SGD(first.parameters(), lr=4.0)
            for _ in range(16):
                optimizer.zero_grad()
                first(x).pow(2).mean().backward()
                optimizer.step()

    Fix
        ::

            optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
            for _ in range(16):
                optimizer.zero_grad()
                first(x).pow(2).mean().backward()
                optimizer.step()

    References
        Karpathy, "A Recipe for Training Neural Networks"; "torch.optim", section "How to adjust learning rate";
        torch.nn.utils.clip_grad_norm_.
    """
    if analysis.value_faults:
        return  # AG304 tells which op made the first number that is not finite, and what had grown until then.
    vitals = analysis.capture.vitals
    growth = growth_of(vitals)
    if growth is not None:
        yield _growth(analysis, growth)
        return
    churn = churn_of(vitals)
    if churn is not None:
        yield _churn(analysis, churn)


def _growth(analysis: Analysis, found: Growth) -> Problem:
    name, step = _name(analysis, found.row), _step_of(analysis, found.row)
    return Problem(
        "warning",
        f"the gradient norm of all parameters grows from {found.before:.2g} to {found.largest:.2g} in step "
        f"{found.step:,}, mostly at {name}{_rate(step, found.row)}",
        "Use a smaller learning rate or a longer warm-up, and clip the gradients "
        "(`torch.nn.utils.clip_grad_norm_`) before `step()`.",
        _stepped(analysis, step),
        (name,),
        ops=() if step is None else (step.op,),
    )


def _churn(analysis: Analysis, found: Churn) -> Problem:
    name, step = _name(analysis, found.row), _step_of(analysis, found.row)
    return Problem(
        "warning",
        f"each of the last steps changes the weights by {found.least:.0%} to {found.largest:.0%} of their norm, "
        f"mostly at {name}{_rate(step, found.row)}",
        "Use a smaller learning rate: one step usually changes the weights by about a thousandth.",
        _stepped(analysis, step),
        (name,),
        (f"{found.steps:,} steps were kept; the first ones are not counted, because new weights may grow quickly.",),
        () if step is None else (step.op,),
    )


def _name(analysis: Analysis, row: ParameterVitals) -> str:
    return name_of(analysis, row.tensor) if row.tensor >= 0 else row.name


def _step_of(analysis: Analysis, row: ParameterVitals) -> Step | None:
    """The last step of the parameter's optimizer."""
    steps = (step for step in reversed(analysis.capture.steps) if any(p.tensor == row.tensor for p in step.parameters))
    return next(steps, None)


def _rate(step: Step | None, row: ParameterVitals) -> str:
    rates = [step.rate(p) for p in step.parameters if p.tensor == row.tensor] if step is not None else []
    return f" (lr {rates[0]:g})" if rates and rates[0] >= 0 else ""


def _stepped(analysis: Analysis, step: Step | None) -> tuple[Location, ...]:
    return () if step is None else analysis.user_frames(step.site, "step() called here")
