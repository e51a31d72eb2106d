"""AG305 where the loss of one network leaves gradients in another one that it runs through, and these are not cleared.

A generator's loss runs through the critic, an actor's through the value network: their parameters get gradients of a
loss that is not theirs. The next loss is theirs, its gradients are added, and their optimizer steps with the sum.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import added_between
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.left_by_another_loss import Left, losses_through_others
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.clearing_call import clearing_call


def left_by_another_loss(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line whose gradients are left."""
    for left, tensors in losses_through_others(analysis, sources):
        names = names_of(analysis, tensors)
        optimizers = analysis.capture.placement.optimizers
        own, other = (variable(analysis, optimizers[step.optimizer]) for step in (left.step, left.other))
        yield Problem(
            "warning",
            f"the loss that {other}.step() was called for also left gradients in {summarize_names(names)} as well; nothing cleared "
            f"them before the next backward(), and {own}.step() uses the sum of both losses for {agree(names, 'it', 'them')}",
            f"{_detached(left)}all `{clearing_call(analysis, left.step, left.own.start)}` right before the backward() of "
            f"{agree(names, 'its', 'their')} own loss.",
            analysis.places(
                (left.entered, "used with its graph here"),
                (left.own.run, "added to the gradients of another loss here"),
                (left.foreign.run, "gradients of the other loss left here"),
                (left.step, "step() uses the sum here"),
            ),
            tuple(names),
            ops=(left.step.op,),
            cures=tuple(added_between(analysis, clearing_call(analysis, left.step, left.own.start), left.own.run.site)),
        )


def _detached(left: Left) -> str:
    """What else can be done where the one loss does not need the graph of the other network, and how the rest begins."""
    return "detach() what goes into the network of the first loss, or c" if left.entered is not None else "C"
