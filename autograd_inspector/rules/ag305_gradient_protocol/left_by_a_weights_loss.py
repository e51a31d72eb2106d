"""AG305 where the loss of a learned weight leaves gradients in what it weighs: the temperature of an actor, a multiplier.

A weight that has an optimizer of its own is trained by the product of it and of a number. Where that number carries the
graph of the network that computed it, the network gets a gradient of the weight's loss, added to the one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.cuts import detached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.left_by_a_weights_loss import weighed_losses
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def left_by_a_weights_loss(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line whose gradients are left."""
    for found, tensors in weighed_losses(analysis, sources):
        names, factor = names_of(analysis, tensors), name_of(analysis, found.factor)
        weights = summarize_names(names_of(analysis, found.weights))
        optimizers = analysis.capture.placement.optimizers
        own = variable(analysis, optimizers[found.step.optimizer])
        made = analysis.flow.birth(found.factor)
        yield Problem(
            "warning",
            f"the loss that trains {weights} multiplies it by {factor}, which has a graph: its backward() leaves gradients in "
            f"{summarize_names(names)}, and {own}.step() uses the sum of both losses for {agree(names, 'it', 'them')}",
            f"detach() the factor: `{factor}.detach()` is a number in the loss of {weights}."
            if "`" not in factor
            else f"detach() the factor where it goes into the loss of {weights}.",
            analysis.places(
                (found.product, "multiplied with its graph here"),
                (found.foreign.run, "gradients left here"),
                (made, "computed here"),
                (found.step, "step() uses the sum here"),
            ),
            (*names, factor),
            ops=(found.step.op,),
            cures=tuple(detached(analysis, found.product, found.factor)),
        )
