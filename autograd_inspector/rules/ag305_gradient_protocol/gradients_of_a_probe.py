"""AG305 where a backward behind the training's own is run for the gradient of an input, and the step uses the sum.

A saliency map, or another picture of what a network attends to, reads ``x.grad`` of an input of its own: no loss of the
training was computed from it. Its backward fills the parameters' ``.grad`` as well. A second loss may be meant to add
its gradients to the first one's. This one is not where the training does without it in other steps, or where the network
is in another mode for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.of_a_probe import probes
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def left_by_probes(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line whose backward leaves such gradients."""
    for probe in probes(analysis, sources):
        names = names_of(analysis, probe.tensors)
        inputs = summarize_names(name_of(analysis, tensor) for tensor in probe.inputs)
        yield Problem(
            "warning",
            f"a backward() that the program ran for the gradient of {inputs} also adds its gradients to {summarize_names(names)}: it comes "
            f"after the backward() of the training loss, and step() updates {agree(names, 'it', 'them')} with the sum",
            f"Take the gradient of {inputs} alone: `torch.autograd.grad(loss, {inputs})` does not write to `.grad` of the parameters. Or "
            "run this backward() before the gradients are cleared for the training loss.",
            analysis.places(
                (probe.run.run, "adds gradients to those of the training loss here"),
                (probe.own.run, "training loss backpropagated here"),
                (probe.step, "step() uses the sum here"),
            ),
            tuple(names),
            ops=(probe.step.op,),
        )
