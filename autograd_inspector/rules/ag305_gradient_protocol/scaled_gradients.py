"""Gradients that are used while a GradScaler still has them scaled up."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.gradients.clipping_sites import clipping_sites
from autograd_inspector.analysis.gradients.normalising import normalised
from autograd_inspector.analysis.gradients.scaled_losses import scaled_by
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import Insert, Move, Operand, Remedies
from autograd_inspector.model.wording import summarize_names

_SCALER = "GradScaler."


def scaled_gradients(analysis: Analysis) -> Iterator[Problem]:
    """Gradients of ``scaler.scale(loss)`` that are clipped, or stepped with, before ``unscale_``."""
    capture = analysis.capture
    reported_sites: set[int] = set()
    clips = set(clipping_sites(analysis))
    for run in capture.backwards:
        scaled = scaled_by(analysis, run) if run.completed else None
        if scaled is None:
            continue
        readers = capture.readers.get(scaled.inputs[-1], ())
        later = (capture.ops[readers[at]] for at in range(bisect_left(readers, run.end), len(readers)))
        undone = [op for op in later if is_a(op.name, OpKind.CONVERTS | OpKind.INVERTS)]
        following = analysis.timeline.next_run(run)
        end = len(capture.ops) if following is None else following.start
        still_scaled: dict[tuple[int, str], list[int]] = {}
        for at, site, what, tensor in sorted(_uses(analysis, run, clips, end)):
            ready = any(op.index <= at and _unscales(analysis, op, tensor) for op in undone)
            if not ready and site not in reported_sites:
                still_scaled.setdefault((site, what), []).append(tensor)
        for (site, what), tensors in still_scaled.items():
            reported_sites.add(site)
            yield _scaled_finding(analysis, site, scaled, what, tensors)


def unscaled_for_nothing(analysis: Analysis) -> Iterator[Problem]:
    """Gradients that a GradScaler divides by its scale, of losses that nothing had multiplied by it."""
    capture, told = analysis.capture, set[int]()
    reads: dict[int, list[GradRead]] = {}
    for read in capture.grad_reads:
        if read.gradient >= 0 and read.site >= 0 and capture.sites[read.site].through.startswith(_SCALER):
            reads.setdefault(read.at, []).append(read)
    for at, together in reads.items():
        given = {read.tensor for read in together}
        before = (step.at for step in analysis.timeline.steps.before(at) if not given.isdisjoint(step.held))
        since = next(before, -1)
        for run in analysis.timeline.backwards.within(since + 1, at):
            tensors = sorted(given.intersection(run.reached).difference(run.empty))
            if tensors and run.site not in told and not run.graph.blind and not _multiplied(analysis, run):
                told.add(run.site)
                yield _unmultiplied(analysis, run, together[0], tensors)


def _multiplied(analysis: Analysis, run: Backward) -> bool:
    """Whether a scale, or a number that was read of one, went into what a backward began with, or was given to it."""
    flow, sites = analysis.flow, analysis.capture.sites
    return bool(run.weights) or any(
        not analysis.scales.isdisjoint(op.inputs) or (op.site >= 0 and sites[op.site].through.startswith(_SCALER))
        for op, _ in flow.upstream([(root, run.start) for root in run.roots], lambda op, _: not op.has(Trait.STEP))
        if not op.has(Trait.STEP)
    )


def _unmultiplied(analysis: Analysis, run: Backward, undone: GradRead, tensors: list[int]) -> Problem:
    names = [name_of(analysis, tensor) for tensor in tensors]
    place = analysis.capture.place(run.site)
    loss, undone_place = called_on(place, "backward"), analysis.capture.place(undone.site)
    scaler = next((name for method in ("step", "unscale_") if (name := called_on(undone_place, method))), "scaler")
    return Problem(
        "warning",
        f"the scaler divides the gradients of {summarize_names(names)} by the loss scale, but nothing multiplied their loss by it: "
        "step() uses gradients that are far too small",
        f"Call `{scaler}.scale({loss or 'loss'}).backward()` instead of `{loss or 'loss'}.backward()`.",
        analysis.places((run, "backward of a loss that is not scaled here"), (undone, "divided by the scale here")),
        tuple(names),
        cures=((Operand(place, "whole", f"{scaler}.scale({loss}).backward()"),),) if place is not None and loss else (),
    )


def _uses(analysis: Analysis, run: Backward, clips: set[int], end: int) -> Iterator[tuple[int, int, str, int]]:
    """(op index, site, "clipped" / "stepped", parameter) of what uses this run's gradients.

    unscale_() is given an optimizer: the gradient of a parameter that is in none stays scaled, and nothing steps with it.
    """
    reached = analysis.capture.optimized.intersection(run.reached)
    for read in analysis.timeline.reads.within(run.end, end):
        if read.site in clips and read.tensor in reached:
            yield read.at, read.site, "clipped", read.tensor
    for op, tensor in normalised(analysis, sorted(reached), run.end, end):
        yield op.index, op.site, "clipped", tensor
    for step in analysis.timeline.steps.within(run.end, end - 1):
        for parameter in step.parameters:
            if parameter.gradient >= 0 and parameter.tensor in reached:
                yield step.at, step.site, "stepped", parameter.tensor


def _unscales(analysis: Analysis, op: Op, tensor: int) -> bool:
    """Whether the unscaling that this op belongs to went over the parameter's gradient."""
    return any(read.site == op.site for read in analysis.timeline.reads_of(tensor).since(op.index))


def _scaled_finding(analysis: Analysis, site: int, scaled: Op, what: str, tensors: list[int]) -> Problem:
    names = [name_of(analysis, t) for t in tensors]
    text, fix = {
        "clipped": (
            "are clipped while they are still multiplied by the loss scale: almost any norm exceeds the limit",
            "Call scaler.unscale_(optimizer) before clipping.",
        ),
        "stepped": (
            "are used by optimizer.step() while they are still multiplied by the loss scale",
            "Call scaler.step(optimizer) and scaler.update() instead of optimizer.step(): it unscales the gradients first.",
        ),
    }[what]
    return Problem(
        "error" if what == "stepped" else "warning",
        f"the gradients of {summarize_names(names)} come from scaler.scale(loss) and {text}",
        fix,
        analysis.places((site, f"scaled gradients {what} here"), (scaled, "loss scaled here")),
        tuple(names),
        cures=tuple(_unscaled(analysis, site, scaled, what, tensors)),
    )


def _unscaled(analysis: Analysis, site: int, scaled: Op, what: str, tensors: list[int]) -> Iterator[Remedies]:
    place, scaler = analysis.capture.place(site), called_on(analysis.capture.place(scaled.site), "scale")
    held = set(tensors)
    steps = [step for step in analysis.capture.steps if step.op > scaled.index and held & step.held]
    if place is None or not scaler or not steps:
        return
    optimizer = variable(analysis, analysis.capture.placement.optimizers[steps[0].optimizer])
    if what == "clipped" and site in clipping_sites(analysis):
        yield (Insert(place, f"{scaler}.unscale_({optimizer})"),)
        return
    if what == "clipped":
        yield from _moved_up(analysis, site, scaled)  # The norm was taken somewhere above.
        return
    optimizer = called_on(place, "step") or optimizer
    if any(capture_site.through == "GradScaler.update" for capture_site in analysis.capture.sites):
        yield (Operand(place, "whole", f"{scaler}.step({optimizer})"),)
    else:
        yield Operand(place, "whole", f"{scaler}.step({optimizer})"), Insert(place, f"{scaler}.update()", "behind")


def _moved_up(analysis: Analysis, site: int, scaled: Op) -> Iterator[Remedies]:
    """unscale_() right behind the backward, where the program calls it later."""
    capture = analysis.capture
    run = next((run for run in capture.backwards if run.start > scaled.index), None)
    later = (op for op in capture.ops if op.index > scaled.index and op.site >= 0 and op.site != site)
    undone = next((op for op in later if capture.sites[op.site].through.startswith("GradScaler.unscale_")), None)
    pair = meeting(analysis, undone.site, run.site) if undone is not None and run is not None else None
    if pair is not None:
        yield (Move(*pair, "behind"),)
