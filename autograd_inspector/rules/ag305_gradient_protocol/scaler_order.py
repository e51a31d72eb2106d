"""A GradScaler that was not told that a step was over, or that was asked twice."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.left_out import left_out
from autograd_inspector.advice.remedies.meeting import meeting_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.operand_origins import Origins
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import ScalerRefused
from autograd_inspector.model.remedy import Insert, Move, Remedies, Remove
from autograd_inspector.model.rewrites import BesideCall
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.torch_names import UPDATE_SCALE
from autograd_inspector.model.wording import summarize_names

_UNSCALING = "GradScaler.unscale_"


def out_of_order(analysis: Analysis) -> Iterator[Problem]:
    """The scaler raised: what it had done for that optimizer since it was last updated, or what it had to go on."""
    yield from _no_gradients(analysis)
    yield from _half(analysis)
    yield from _nothing_checked(analysis)
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
            f"Call `{scaler}.update()` once after `{scaler}.step({name})`, at the end of each iteration."
            if again
            else f"Call `{scaler}.unscale_({name})` once for each `{scaler}.step({name})`, right before the gradients are "
            f"clipped, and `{scaler}.update()` after it.",
            (*earlier, *analysis.user_frames(event.site, "called again here")),
            (event.type, f"{scaler}.update()"),
            cures=tuple((Insert(place, f"{scaler}.update()", "behind"),) for place in earlier[:1])
            if again
            else tuple(_once(analysis, event, earlier)),
        )


def _once(analysis: Analysis, event: ScalerRefused, earlier: tuple[Location, ...]) -> Iterator[Remedies]:
    """The later call takes the place of the earlier one, which may run in some iterations only."""
    pair = meeting_of(analysis.capture.site(event.site), earlier)
    if pair is not None:
        yield Move(*pair, "before"), Remove(earlier[0])
    yield from left_out(analysis, event.site)


def _no_gradients(analysis: Analysis) -> Iterator[Problem]:
    """step() of an optimizer whose parameters have no gradient, or before any loss was scaled."""
    unscaled = says(analysis.capture.error, TorchError.NOTHING_UNSCALED)
    if not (unscaled or says(analysis.capture.error, TorchError.NOTHING_SCALED)):
        return
    for event in analysis.capture.events_of(ScalerRefused)[-1:]:
        optimizer = analysis.capture.placement.optimizers[event.optimizer]
        names = summarize_names(name_of(analysis, tensor) for tensor in optimizer.held)
        runs = analysis.capture.completed_runs[-1:]
        yield Problem(
            "error",
            f"{event.type} has no gradient to unscale: none of {names} has a .grad"
            if unscaled
            else "the scaler has no scale yet: no loss went through scaler.scale()",
            "Call backward() on a loss that these parameters compute, or give the optimizer the parameters that do."
            if unscaled
            else "Call `scaler.scale(loss).backward()` instead of `loss.backward()`.",
            (
                *(analysis.user_frames(optimizer.site, "given to the optimizer here") if unscaled else ()),
                *analysis.places(*((run, "backward called here") for run in runs), (event, "refused here")),
            ),
            (event.type,),
        )


def _half(analysis: Analysis) -> Iterator[Problem]:
    """float16 parameters under a scaler: what had made them so."""
    if not says(analysis.capture.error, TorchError.HALF_UNSCALED):
        return
    origins = Origins(analysis.capture, analysis.flow)
    for event in analysis.capture.events_of(ScalerRefused)[-1:]:
        held = analysis.capture.placement.optimizers[event.optimizer].held
        half = [tensor for tensor in held if analysis.capture.tensors[tensor].dtype == "float16"]
        made = [origins.of(tensor, lambda record: record.dtype).event for tensor in half[:1]]
        yield Problem(
            "error",
            f"GradScaler cannot unscale the float16 gradients of {summarize_names(name_of(analysis, t) for t in half)}"
            + "".join(f": {origin.api} made the parameters float16" for origin in made if origin is not None),
            "Keep the parameters in float32, and compute in float16 under torch.autocast: no `half()` on the model.",
            analysis.places(
                *((origin, "parameters made float16 here") for origin in made if origin is not None),
                (event, "refused here"),
            ),
            (event.type, "float16"),
        )


def _nothing_checked(analysis: Analysis) -> Iterator[Problem]:
    """update() of a scaler that no step had asked since the update before: micro-batches that only accumulate."""
    if not says(analysis.capture.error, TorchError.NOTHING_CHECKED) or analysis.capture.error_site < 0:
        return
    site = analysis.capture.error_site
    scaler = called_on(analysis.capture.place(site), "update") or "scaler"
    runs = analysis.capture.completed_runs[-1:]
    yield Problem(
        "error",
        f"{scaler}.update() has nothing to judge the scale by: no {scaler}.step() or {scaler}.unscale_() has checked gradients since the previous update",
        f"Call `{scaler}.update()` once after each `{scaler}.step(optimizer)`, in the same branch: gradients that are "
        "accumulated must have one scale.",
        (
            *analysis.user_frames(site, "updated without a step here"),
            *analysis.places(*((run, "backward called here") for run in runs)),
        ),
        (f"{scaler}.update()",),
        cures=at_line(analysis, site, lambda place: BesideCall(place, "step")),
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
