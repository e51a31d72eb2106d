"""AG305 where the zero_grad() of another optimizer drops a part of the gradients that a step is to use.

Two optimizers that share an encoder, say: the second one's zero_grad() comes between the first one's backward and step.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import brought_forward, in_order
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.cleared_by_another import cleared_by_others
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def cleared_by_another(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line that clears."""
    for cleared, tensors in cleared_by_others(analysis, sources):
        optimizers = analysis.capture.placement.optimizers
        step, run, call = cleared.step, cleared.run, cleared.call
        names = names_of(analysis, tensors)
        own, other = (variable(analysis, optimizers[number]) for number in (step.optimizer, call.optimizer))
        yield Problem(
            "warning",
            f"{other}.zero_grad() clears the gradients of {summarize_names(names)} that backward() computed for {own}.step(): both optimizers hold {agree(names, 'it', 'them')}, and the step uses the other gradients alone",
            f"Call {other}.zero_grad() before that backward(), or after {own}.step().",
            analysis.places(
                (call, "cleared by another optimizer here"),
                (run, "gradients computed here"),
                (step, "step() uses the rest here"),
            ),
            tuple(names),
            ops=(step.op,),
            cures=(*brought_forward(analysis, call.site, run.site), *in_order(analysis, call.site, step.site)),
        )
