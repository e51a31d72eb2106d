"""AG408: what a step does to gradients, and who reads them afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.protocol import brought_forward
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import GradRead, Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import join_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """`step()` changed `.grad` in place, and the program read it afterwards.

    Why it matters
        Some optimizers use `.grad` as scratch memory: AdamWScheduleFree divides it by the Adam denominator, foreach
        SGD with Nesterov momentum adds the momentum. A norm or histogram taken after the step is not that of the
        gradient.

    Example
        ::

            loss.backward()
            optimizer.step()
            norm = net.weight.grad.norm()

    Fix
        ::

            loss.backward()
            norm = net.weight.grad.norm()
            optimizer.step()

    References
        schedulefree.AdamWScheduleFree.step; torch.optim.SGD (nesterov, foreach).
    """
    reported_sites: set[tuple[int, int]] = set()
    for step in analysis.capture.steps:
        changed = {
            p.gradient: p.tensor for p in step.parameters if p.gradient >= 0 and p.gradient_after > p.gradient_before
        }
        if not changed:
            continue
        reads = [r for r in analysis.capture.grad_reads if r.gradient in changed and _stale(analysis, step, r)]
        sites = (step.site, reads[0].site) if reads else (-1, -1)
        if reads and sites not in reported_sites:
            reported_sites.add(sites)
            yield _finding(analysis, step, reads)


def _stale(analysis: Analysis, step: Step, read: GradRead) -> bool:
    """The gradient was read after the step and its values used, before anything renewed it."""
    if read.at <= step.at:
        return False
    renewed = [run.start for run in analysis.capture.backwards if run.start > step.at and run.api == "backward"]
    end = min(renewed, default=len(analysis.capture.ops))
    if read.at > end:
        return False
    for op in analysis.capture.ops[read.at : end]:
        if read.gradient in op.inputs and op.name != "detach":
            return not is_a(op.name, OpKind.TAKES_NO_VALUES) and all(w.tensor != read.gradient for w in op.writes)
        if read.gradient in op.inputs and op.outputs:
            return True
    return False


def _finding(analysis: Analysis, step: Step, reads: list[GradRead]) -> Problem:
    optimizer = analysis.capture.placement.optimizers[step.optimizer]
    names = [name_of(analysis, read.tensor) for read in reads]
    return Problem(
        "warning",
        f"{optimizer.type}.step() changed .grad in place, and the program read it afterwards: the .grad of "
        f"{join_names(names, 4)} is no longer the gradient that backward() computed",
        "Read the gradient (norm, histogram, clipping) between backward() and step(); with schedulefree, the "
        "...Reference classes do not modify .grad.",
        analysis.places((step, "step() changes .grad here"), *((read, "stale .grad read here") for read in reads[:4])),
        (*names, f"{optimizer.type}.step"),
        ops=(step.op,),
        cures=tuple(brought_forward(analysis, reads[0].site, step.site)),
        safe=True,
    )
