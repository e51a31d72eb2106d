"""Gradients that are used while a GradScaler still has them scaled up."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import UPDATE_SCALE
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.clipping import clipping_sites
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


def scaled_gradients(facts: Facts) -> Iterator[Finding]:
    """Gradients of ``scaler.scale(loss)`` that are clipped, or stepped with, before ``unscale_``."""
    capture = facts.capture
    told: set[int] = set()
    clips = set(clipping_sites(facts))
    for run in capture.backwards:
        scaled = scaled_by(facts, run) if run.api == "backward" and not run.error else None
        if scaled is None:
            continue
        scale = scaled.inputs[-1]
        undone = [op for op in capture.ops[run.end :] if op.name in {"double", "reciprocal"} and scale in op.inputs]
        following = min(
            (r.start for r in capture.backwards if r.start >= run.end and r.index > run.index), default=len(capture.ops)
        )
        for at, site, what, tensor in sorted(_uses(facts, run, clips, following)):
            ready = any(op.index <= at and _unscales(facts, op, tensor) for op in undone)
            if not ready and site not in told:
                told.add(site)
                yield _scaled_finding(facts, site, scaled, what, run)


def _uses(facts: Facts, run: Backward, clips: set[int], end: int) -> Iterator[tuple[int, int, str, int]]:
    """(op index, site, "clipped" / "stepped", parameter) of what uses this run's gradients."""
    for read in facts.capture.grad_reads:
        if read.site in clips and run.end <= read.at < end + 1 and read.tensor in run.reached:
            yield read.at, read.site, "clipped", read.tensor
    for step in facts.capture.steps:
        held = [p.tensor for p in step.parameters if p.gradient >= 0 and p.tensor in run.reached]
        if run.end <= step.at < end and held:
            yield step.at, step.site, "stepped", held[0]


def _unscales(facts: Facts, op: Op, tensor: int) -> bool:
    """Whether the unscaling that this op belongs to went over the parameter's gradient."""
    return any(r.site == op.site and r.tensor == tensor and r.at >= op.index for r in facts.capture.grad_reads)


def scaled_by(facts: Facts, run: Backward) -> Op | None:
    """The multiplication by a GradScaler's scale that made the root of a backward."""
    capture = facts.capture
    scales = {op.inputs[0] for op in capture.ops if op.name == UPDATE_SCALE and op.inputs}
    for root in run.roots:
        made = facts.flow.birth(root)
        if made is None or made.name != "mul" or len(made.inputs) < 2:
            continue
        place = capture.place(made.site)
        if made.inputs[-1] in scales or (place is not None and ".scale(" in place.expression):
            return made
    return None


def _scaled_finding(facts: Facts, site: int, scaled: Op, what: str, run: Backward) -> Finding:
    names = [facts.name(t) for t in run.reached]
    text, fix = {
        "clipped": (
            "are clipped while they are still multiplied by the loss scale: almost any norm is above the limit",
            "Call scaler.unscale_(optimizer) before clipping.",
        ),
        "stepped": (
            "are used by optimizer.step() while they are still multiplied by the loss scale",
            "Call scaler.step(optimizer) and scaler.update() instead of optimizer.step(): it unscales the gradients first.",
        ),
    }[what]
    return Finding(
        "AG305",
        "gradient-protocol",
        "error" if what == "stepped" else "warning",
        f"the gradients of {folded(names)} come from scaler.scale(loss) and {text}",
        fix,
        unique([*facts.chain(site, f"scaled gradients {what} here"), *facts.chain(scaled.site, "loss scaled here")]),
        tuple(dict.fromkeys(names)),
    )
