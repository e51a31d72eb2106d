"""AG305: gradients that are clipped first, and all multiplied by a number afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import brought_forward
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clipped_before import scaled_after
from autograd_inspector.analysis.gradients.clipping_sites import clipping_sites
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def scaled_after_clipping(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """A warning where the number averages a sum of several backwards; else a hint: a factor may be meant for the step."""
    for found in scaled_after(analysis, sources, clipping_sites(analysis)):
        names, op = names_of(analysis, found.tensors), found.scaled
        what = f"the sum of {found.summed} backward() calls" if found.summed > 1 else "what backward() computed"
        yield Problem(
            "warning" if found.summed > 1 else "info",
            f"`{op.name}` scales the gradients of {summarize_names(names)} after they were clipped: the limit was applied to "
            f"{what}, not to the gradients that step() uses",
            "Scale the gradients first, and clip them afterwards, right before step().",
            analysis.places(
                (op, "scaled here, after the clipping"),
                (found.clipped, "clipped here"),
                (found.step, "step() uses them here"),
            ),
            tuple(names),
            ops=(op.index, found.step.op),
            cures=tuple(brought_forward(analysis, op.site, found.clipped.site)),
        )
