"""AG305 where a loss leaves its gradients to the next one in some rounds, after they have served."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import added_between
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.served_already import served_already
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.clearing_call import clearing_call


def left_after_use(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line whose gradients are left."""
    for found in served_already(analysis, sources):
        names = names_of(analysis, found.tensors)
        optimizers = analysis.capture.placement.optimizers
        own = variable(analysis, optimizers[found.step.optimizer])
        by = found.by
        used = f"{variable(analysis, optimizers[by.optimizer])}.step()" if isinstance(by, Step) else f"`{by.name}`"
        clearing = clearing_call(analysis, found.step, found.own.start)
        yield Problem(
            "warning",
            f"the gradients that an earlier backward() left in {summarize_names(names)} have served {used}, and are still there "
            f"when the next loss adds its own: {own}.step() uses the sum of both losses for {agree(names, 'it', 'them')}, in "
            "some rounds and not in others",
            f"Call `{clearing}` right before the backward() of the next loss.",
            analysis.places(
                (found.own.run, "added to the gradients of another loss here"),
                (found.left.run, "gradients left here"),
                (by, "used here"),
                (found.step, "step() uses the sum here"),
            ),
            (*names, clearing),
            ops=(found.step.op,),
            cures=tuple(added_between(analysis, clearing, found.own.run.site)),
        )
