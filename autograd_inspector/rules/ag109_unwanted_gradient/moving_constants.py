"""AG109: a target, or the weight of a log-probability, that should be a number and carries a graph."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import is_named, name_of
from autograd_inspector.advice.remedies.cuts import detached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.losses.bootstrapped import Bootstrapped, bootstrapped
from autograd_inspector.analysis.losses.score_weights import ScoreWeight, score_weights
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def moving_constants(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that takes one."""
    for target in bootstrapped(analysis):
        yield _target(analysis, target)
    for weight in score_weights(analysis, GradientSources(analysis)):
        yield _weight(analysis, weight)


def _target(analysis: Analysis, found: Bootstrapped) -> Problem:
    names, target = [name_of(analysis, tensor) for tensor in found.parameters], name_of(analysis, found.target)
    whole = summarize_names(names)
    return Problem(
        "warning",
        f"the prediction and its target, {target}, are both computed with {whole}, and both have a graph: backward() also "
        "moves the target towards the prediction",
        "Compute the target under torch.no_grad(), or detach() it before it is compared; a slowly updated copy of the network makes it more stable.",
        analysis.places(
            (found.added, "target computed with its graph here"),
            (found.used, "the network computes it here"),
            (found.compared, "compared with the prediction here"),
        ),
        (*names, target),
        ops=(found.compared.index,),
        cures=tuple(detached(analysis, found.added)),
    )


def _weight(analysis: Analysis, found: ScoreWeight) -> Problem:
    names, weight = [name_of(analysis, tensor) for tensor in found.parameters], name_of(analysis, found.weight)
    made = analysis.flow.birth(found.weight)
    factor = weight if is_named(analysis, found.weight) else "factor"
    return Problem(
        "warning",
        f"the log-probability of a sample is multiplied by {weight}, which has a graph: {summarize_names(names)} "
        f"{agree(names, 'gets a gradient', 'get gradients')} that {agree(names, 'makes', 'make')} the factor larger, and a "
        "step uses it",
        f"detach() the factor: in `log_prob * {factor}.detach()` it only weights the sample. Train the network that computes it with another loss.",
        analysis.places((found.product, "multiplied here"), (made, "computed with its graph here")),
        (*names, weight),
        ops=(found.product.index,),
        cures=tuple(detached(analysis, found.product, found.weight)),
    )
