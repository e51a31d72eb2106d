"""A GradScaler that was not told that a step was over, or that was asked twice."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.program_events import ScalerRefused
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.torch_names import UPDATE_SCALE

_UNSCALING = "GradScaler.unscale_"


def out_of_order(analysis: Analysis) -> Iterator[Problem]:
    """The scaler raised: what it had done for that optimizer since it was last updated."""
    if not says(analysis.capture.error, TorchError.UNSCALED_AGAIN, TorchError.SCALER_STEPPED_AGAIN):
        return
    for event in analysis.capture.events_of(ScalerRefused)[-1:]:
        stepped = _stepped(analysis, event)
        earlier = stepped or _unscaled(analysis, event)
        name = variable(analysis, analysis.capture.placement.optimizers[event.optimizer])
        scaler = called_on(analysis.capture.place(event.site), event.method) or "scaler"
        again = stepped or event.method == "step"
        yield Problem(
            "error",
            f"{scaler}.{event.method}() was called for {event.type} before {scaler}.update(): "
            + (
                "no update() followed the last step()"
                if again
                else "its gradients were unscaled already, and neither step() nor update() followed"
            ),
            f"Call `{scaler}.update()` once after `{scaler}.step({name})`, at the end of each round."
            if again
            else f"Call `{scaler}.unscale_({name})` once for each `{scaler}.step({name})`, right before the gradients are "
            f"clipped, and `{scaler}.update()` after it.",
            dedupe_locations([*earlier, *analysis.user_frames(event.site, "called again here")]),
            (event.type, f"{scaler}.update()"),
        )


def _last_update(analysis: Analysis) -> int:
    return next((op.index for op in reversed(analysis.capture.ops) if op.name == UPDATE_SCALE), -1)


def _stepped(analysis: Analysis, event: ScalerRefused) -> tuple[Location, ...]:
    """Where the optimizer stepped since the last update, if it did: a step with infinite gradients is skipped."""
    steps = analysis.timeline.steps_of(event.optimizer).all
    since = _last_update(analysis)
    return next(
        (
            analysis.user_frames(step.site, "no update() follows this step()")
            for step in reversed(steps)
            if step.at > since
        ),
        (),
    )


def _unscaled(analysis: Analysis, event: ScalerRefused) -> tuple[Location, ...]:
    """Where gradients were unscaled since the last update."""
    sites, since = analysis.capture.sites, _last_update(analysis)
    ops = (op for op in reversed(analysis.capture.ops) if since < op.index < event.at and op.site >= 0)
    unscaling = next((op for op in ops if sites[op.site].through.startswith(_UNSCALING)), None)
    return () if unscaling is None else analysis.user_frames(unscaling.site, "unscaled already here")
