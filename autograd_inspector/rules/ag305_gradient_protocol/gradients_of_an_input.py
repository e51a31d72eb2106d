"""AG305 where a backward that was run for the gradient of an input leaves others in the parameters, which step.

An attack, a sampler or a saliency map reads ``x.grad``. The backward fills the parameters' ``.grad`` as well, and where
nothing clears them before the loss of the training, the step uses the sum. That may be meant: adversarial training on
clean and perturbed inputs can make one backward serve both. It is not where several of these backwards go before the
training's own, each at full size, nor where they ran in another mode (eval) than the training, nor where the loss is made
of the gradient and of the very graph that it was taken through: the slope in the residual of a differential equation.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.protocol import added_between
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.of_an_input import cannot_be_meant, foreign_backwards
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.clearing_call import clearing_call


def left_by_others(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line whose backward leaves such gradients."""
    for foreign in foreign_backwards(analysis, sources):
        names, wrong = names_of(analysis, foreign.tensors), cannot_be_meant(analysis, foreign)
        inputs = summarize_names(name_of(analysis, t) for t in foreign.inputs)
        clearing = clearing_call(analysis, foreign.step, foreign.runs[0].start)
        fix = (
            f"Call `{clearing}` right before the backward() of the training loss, or take the gradient of {inputs} alone, with "
            f"torch.autograd.grad(loss, {inputs})."
        )
        if foreign.again:
            fix = f"Take the gradient of {inputs} with torch.autograd.grad(..., create_graph=True), which does not write to .grad of the parameters and has a graph: the .grad that backward() writes is a constant in the loss."
        elif not wrong:
            fix = f"If the step should use only the gradients of the training loss: {fix[0].lower()}{fix[1:]}"
        times = f"{len(foreign.runs)} backward() calls" if len(foreign.runs) > 1 else "a backward()"
        yield Problem(
            "warning" if wrong else "info",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} updated with gradients of {times} that the program ran for the gradient "
            f"of {inputs}: nothing cleared what {agree(foreign.runs, 'it', 'they')} left before the backward() of the training loss added to it",
            fix,
            analysis.places(
                (foreign.runs[0], "leaves gradients in the parameters here"),
                (foreign.own.run, "added to them here"),
                (foreign.step, "step() uses the sum here"),
            ),
            tuple(names),
            ops=(foreign.step.op,),
            cures=() if foreign.again else tuple(added_between(analysis, clearing, foreign.own.run.site)),
        )
