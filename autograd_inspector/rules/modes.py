"""AG410: schedule-free optimizers in the wrong mode."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import Facts, rule, unique


@rule("AG410", "optimizer-mode")
def optimizer_mode(facts: Facts) -> Iterator[Finding]:
    """A schedule-free optimizer in the wrong mode: `optimizer.train()` or `optimizer.eval()` is missing.

    Why it matters
        Schedule-free optimizers keep two sets of weights and swap them in `train()` and `eval()`. In the wrong mode
        step() raises, and evaluation or a checkpoint uses weights that were never meant for it.

    Example
        ::

            optimizer = schedulefree.AdamWScheduleFree(net.parameters())
            net(x).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            optimizer = schedulefree.AdamWScheduleFree(net.parameters())
            optimizer.train()
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        The schedule_free project's README, "How to use".
    """
    optimizers = facts.capture.placement.optimizers
    for step in facts.capture.steps:
        optimizer = optimizers[step.optimizer]
        if step.error and "not in train mode" in facts.capture.error:
            yield Finding(
                "AG410",
                "optimizer-mode",
                "error",
                f"{optimizer.type}.step() was called in eval mode: optimizer.train() was never called, or eval() came after",
                "Call optimizer.train() before training (beside model.train()) and optimizer.eval() before evaluation.",
                unique([*facts.chain(optimizer.site, "optimizer made here"), *facts.chain(step.site, "step() called here")]),
                (optimizer.type, "train()"),
                ops=(step.op,),
            )
