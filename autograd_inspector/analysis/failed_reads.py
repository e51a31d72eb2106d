"""Gradients that were None, and over which the program fell: those that it read, and those that `autograd.grad` gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autograd_inspector.analysis.callers import reads
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.location import Location

_NONE = "NoneType"


def last_read(capture: Capture) -> GradRead | None:
    """The read that came last, if the program fell over it."""
    reads = [read for read in (*capture.grad_reads[-1:], *_in_step(capture)) if ended_by(capture, read)]
    return reads[0] if reads else None


def _in_step(capture: Capture) -> Iterator[GradRead]:
    """What the program's own step(), which is one record, fell over: the first gradient that was not there."""
    for step in capture.steps[-1:] if capture.error and capture.site(capture.error_site) else ():
        missing = [p.tensor for p in step.parameters if p.gradient < 0 and capture.tensors[p.tensor].requires_grad]
        if step.error and missing:
            yield GradRead(step.at, missing[0], -1, capture.error_site, leaf=True)


def ended_by(capture: Capture, read: GradRead) -> bool:
    """Whether the program raised because of None where it read it, or where it used the variable that got it.

    The lines that led to both are left aside, and the first are compared where the ways part: `norm(p.grad)` may
    raise in the function that was given it, and a function that returns it may have read it.
    """
    return read.gradient < 0 and _fell_over(capture, read.site)


def unused_by_the_last(
    capture: Capture, leaves: Callable[[Backward], frozenset[int]]
) -> tuple[Backward, tuple[int, ...]] | None:
    """(the ``autograd.grad`` that gave the program the None that it fell over, what it was asked for and did not find).

    ``leaves``: what the graph of a run leads to.
    """
    for run in capture.backwards[-1:]:
        if run.api != "grad" or run.error or run.graph.blind or not _fell_over(capture, run.site):
            continue
        found = leaves(run)
        missing = tuple(t for t in run.reached if capture.tensors[t].leaf and t not in found)
        if missing:
            return run, missing
    return None


def _fell_over(capture: Capture, site: int) -> bool:
    if _NONE not in capture.error or capture.error_site < 0:
        return False
    raised, reading = _from_outside(capture, capture.error_site), _from_outside(capture, site)
    while raised and reading and raised[0].line == reading[0].line:
        del raised[0], reading[0]
    return not raised or not reading or _uses(raised[0], reading[0])


def _from_outside(capture: Capture, site: int) -> list[Location]:
    return [frame for frame in reversed(capture.site(site)) if not frame.library]


def _uses(raised: Location, reading: Location) -> bool:
    """Whether the one line continues the statement of the other, or has the variable that it assigned."""
    if raised.scope != reading.scope:
        return False
    if reading.lineno <= raised.lineno <= reading.end_lineno:
        return True
    name = reading.target
    return name != "" and reads(raised, name)
