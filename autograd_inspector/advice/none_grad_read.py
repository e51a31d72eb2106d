"""`.grad` was None, and that ended the program: why it was None."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.advice.spelling import method_on
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.failed_reads import last_read
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Move, Remedies

Reason = tuple[str, str, tuple[Location, ...]]
"""What happened, what to write instead, where."""


def failed_read(analysis: Analysis) -> GradRead | None:
    """The leaf's ``.grad`` that was read last, was None, and made the program fail."""
    read = last_read(analysis.capture)
    return read if read is not None and read.leaf else None


def too_early_or_late(analysis: Analysis) -> Iterator[Problem]:
    """Read before backward computed it, or after something cleared it: a matter of order."""
    read = failed_read(analysis)
    reason = None if read is None or not _learns(analysis, read) else _cleared(analysis, read) or _early(analysis, read)
    if read is not None and reason is not None:
        yield _problem(analysis, read, reason, tuple(_cleared_earlier(analysis, read)))


def never_there(analysis: Analysis) -> Iterator[Problem]:
    """Read where backward has been, and had none for it: frozen, or no part of the loss."""
    read = failed_read(analysis)
    if read is None or (_learns(analysis, read) and (_cleared(analysis, read) or _early(analysis, read))):
        return
    explained = {tensor for cut in analysis.harmful_cuts for tensor in cut.parameters}
    if read.tensor not in explained | analysis.in_graph_without_gradient:
        yield _problem(analysis, read, _aside(analysis, read) if _learns(analysis, read) else _frozen(analysis, read))


def _learns(analysis: Analysis, read: GradRead) -> bool:
    return analysis.lifecycle.requires_grad_at(read.tensor, read.at)


def _cleared(analysis: Analysis, read: GradRead) -> Reason | None:
    last = _clearing_before(analysis, read)
    if last is None:
        return None
    return (
        "it was cleared after backward() and before it was read",
        "Read it between backward() and zero_grad().",
        analysis.user_frames(last[1], "cleared here"),
    )


def _clearing_before(analysis: Analysis, read: GradRead) -> tuple[Backward, int] | None:
    """(the last backward that computed the gradient, the site of what cleared it since)."""
    capture, tensor = analysis.capture, read.tensor
    runs = [r for r in capture.completed_runs if r.end <= read.at]
    runs = [run for run in runs if tensor in run.reached and tensor not in run.empty]
    if not runs:
        return None
    since = runs[-1].end
    calls = [(call.at, call.site) for call in clearings(analysis, [tensor], since, read.at)]
    writes = [(w.at, w.site) for w in capture.grad_writes if since <= w.at <= read.at and w.tensor == tensor]
    last = max((*calls, *writes), default=None)
    return None if last is None else (runs[-1], last[1])


def _cleared_earlier(analysis: Analysis, read: GradRead) -> Iterator[Remedies]:
    """What clears comes before the backward: the gradients stay until the next one."""
    found = _clearing_before(analysis, read)
    pair = None if found is None else meeting(analysis, found[1], found[0].site)
    if pair is not None and pair[0].lineno > pair[1].lineno:
        yield (Move(*pair, "before"),)


def _early(analysis: Analysis, read: GradRead) -> Reason | None:
    if any(run.api == "backward" and run.end <= read.at for run in analysis.capture.backwards):
        return None
    asked = [r for r in analysis.capture.backwards if r.api == "grad" and r.end <= read.at and read.tensor in r.reached]
    returned = analysis.places(*((run, "torch.autograd.grad returns the gradients here") for run in asked[-1:]))
    return "no backward() had run yet", "Call loss.backward() before reading .grad.", returned


def _frozen(analysis: Analysis, read: GradRead) -> Reason:
    return (
        "it does not require grad",
        "Skip frozen parameters (`if p.grad is not None`), or call requires_grad_() on them before the forward.",
        frozen_here(analysis, [read.tensor], until=read.at),
    )


def _aside(analysis: Analysis, read: GradRead) -> Reason:
    capture = analysis.capture
    runs = [run for run in capture.backwards if run.api == "backward"]
    late = analysis.lifecycle.unfrozen([read.tensor], until=read.at)
    if late and any(read.tensor in op.inputs for op in capture.ops[: late[-1].at]):
        return (
            "it was used before it required grad",
            f"Call {method_on(name_of(analysis, read.tensor), 'requires_grad_()')} before the forward that uses it.",
            analysis.user_frames(late[-1].site, "requires grad from here on"),
        )
    used = next((op for op in capture.ops if op.recorded and read.tensor in op.inputs), None)
    return (
        "the loss does not use it" if used is None else "no result computed from it reaches the loss",
        "Use it in the loss that backward() is called on, or skip parameters without a gradient (`if p.grad is not None`).",
        analysis.places((used, "used here"), (runs[-1], "backward called here")),
    )


def _problem(analysis: Analysis, read: GradRead, reason: Reason, cures: tuple[Remedies, ...] = ()) -> Problem:
    why, fix, places = reason
    name = name_of(analysis, read.tensor)
    reading = analysis.user_frames(read.site, ".grad read here")
    return Problem(
        "error",
        f"{name}.grad is None, because {why}",
        fix,
        (*places, *reading),
        (name,),
        cures=cures,
    )
