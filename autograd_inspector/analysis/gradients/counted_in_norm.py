"""Gradients that add up because nothing clears them, and that clipping counts in the norm of all."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.program_events import ZeroGradCalled


class CountedInNorm(Struct, frozen=True):
    """``clip`` scales the gradients of what learns by a norm with older gradients in it, which ``cleared`` did not clear."""

    clip: GradRead
    cleared: ZeroGradCalled | None


def counted_in_norm(analysis: Analysis, parameters: Iterable[int]) -> CountedInNorm | None:
    """Whether a limited norm has gradients of some parameters in it that were there before the last backward."""
    capture, loose = analysis.capture, set(parameters)
    stale = {(t, run.end) for run in capture.completed_runs for t in run.stale if t in loose}
    if not stale:
        return None
    first = {tensor: min(end for t, end in stale if t == tensor) for tensor, _ in stale}
    reads = [read for read in capture.grad_reads if 0 <= read.clips < inf and read.gradient >= 0]
    shared = {read.site for read in reads if read.tensor in capture.optimized}
    for read in reads:
        if read.site in shared and read.tensor in first and read.at >= first[read.tensor]:
            cleared = [event for event in capture.events_of(ZeroGradCalled) if event.at <= read.at]
            return CountedInNorm(read, cleared[-1] if cleared else None)
    return None
