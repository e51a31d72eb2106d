"""AG305: losses that are divided as if their gradients accumulated, where hooks step within each backward()."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.stepped_within import stepped_within
from autograd_inspector.model.finding import Problem


def divided_but_stepped(analysis: Analysis) -> Iterator[Problem]:
    """One hint for each line that calls backward(): what the number stands for, no record says."""
    for found in stepped_within(analysis):
        kind = analysis.capture.placement.optimizers[found.steps[-1].optimizer].type
        held = {tensor for step in found.steps for tensor in step.held}
        hooks = list(
            dict.fromkeys(
                h.name.rpartition(".")[2]
                for h in analysis.capture.tensor_hooks
                if h.post and h.tensor in held and h.name
            )
        )
        named = f" ({hooks[0]})" if hooks else ""
        yield Problem(
            "info",
            f"{kind}.step() is called by a hook{named} within each of {len(found.runs)} backward() calls, and each loss is divided by a "
            "number before: if that is how many micro-batches accumulate, none do, and each step uses a fraction of the "
            "gradient of one",
            "Do not divide the loss if each micro-batch is one step; to accumulate, call step() after the last backward() of "
            "them instead of in a hook.",
            analysis.places(
                (found.steps[-1], "step() within backward() here"),
                (found.divided, "loss divided here"),
                (found.runs[-1], "backward called here"),
            ),
            tuple(dict.fromkeys((f"{kind}.step()", *hooks))),
            ops=(found.divided.index,),
        )
