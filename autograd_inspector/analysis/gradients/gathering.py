"""Detached copies at which gradient gathers, to be handed on: ``d = z.detach().requires_grad_()`` for several losses."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, may_learn
from autograd_inspector.model.autograd import Backward

_SEVERAL = 2


def gathers(analysis: Analysis, cut: GradientCut) -> Backward | None:
    """The last of several backwards that brought a gradient to one copy, where the program never reads that gradient."""
    capture = analysis.capture
    copies = {tensor for tensor in cut.through if may_learn(capture, tensor) and tensor not in capture.optimized}
    if not copies or any(read.tensor in copies for read in capture.grad_reads):
        return None
    for copy in copies:
        runs = [run for run in capture.completed_runs if copy in run.reached and copy not in run.roots]
        if len(runs) >= _SEVERAL:
            return runs[-1]
    return None
