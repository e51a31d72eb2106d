"""Losses that a GradScaler has multiplied by its scale."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op


def scaled_by(analysis: Analysis, run: Backward) -> Op | None:
    """The multiplication by a GradScaler's scale that made the root of a backward."""
    capture = analysis.capture
    for root in run.roots:
        made = analysis.flow.birth(root)
        if made is None or made.name != "mul" or len(made.inputs) < 2:
            continue
        if made.inputs[-1] in analysis.scales or capture.sites[made.site].through == "GradScaler.scale":
            return made
    return None
