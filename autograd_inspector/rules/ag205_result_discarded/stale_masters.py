"""AG205 where loaded weights are overwritten with copies of the weights of before."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.stale_masters import stale_masters
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def loaded_under_masters(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each load."""
    for found in stale_masters(analysis):
        names, kind = (
            names_of(analysis, found.parameters),
            analysis.capture.placement.optimizers[found.step.optimizer].type,
        )
        yield Problem(
            "warning",
            f"{found.loaded.api} loads {summarize_names(names)}, but {kind} steps {agree(names, 'a copy', 'copies')} made by "
            f"`{found.copied.name}` before, and after step() `{found.back.name}` writes {agree(names, 'it', 'them')} over the loaded "
            "values: training continues from the weights of before",
            "Load the weights before the optimizer copies them. Or copy the loaded weights into the copies that the optimizer "
            "steps, under torch.no_grad().",
            analysis.places(
                (found.loaded, "loaded here"),
                (found.copied, "copied before here"),
                (found.back, "overwritten here"),
                (found.step, "step() called here"),
            ),
            (*names, found.loaded.api),
            ops=(found.copied.index, found.back.index),
        )
