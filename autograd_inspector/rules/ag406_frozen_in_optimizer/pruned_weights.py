"""AG406: weights that a mask sets to zero, and that the following steps move."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.optimizers.revived import Revived, revived
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, counted, summarize_names


def pruned_weights(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that applies masks, and for each way in which the weights come back."""
    for (_, averages), weights in grouped(revived(analysis), lambda found: (found.masked.site, found.averages)).items():
        yield _moved_by_averages(analysis, weights, averages) if averages else _moved_by_gradients(analysis, weights)


def _moved_by_gradients(analysis: Analysis, weights: list[Revived]) -> Problem:
    names, first = names_of(analysis, (w.tensor for w in weights)), weights[0]
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'was', 'were')} pruned with a mask, and the next {counted(first.steps, 'step')} "
        "updated the pruned weights as well: nothing applies the mask again",
        "Apply the mask after each step(): `p.mul_(mask)` under torch.no_grad(); or multiply by it in the forward, as "
        "torch.nn.utils.prune does, and call prune.remove() only after the last step().",
        analysis.places((first.masked, "mask applied here"), (first.step, "pruned weights updated here")),
        tuple(names),
        ops=tuple(w.masked.index for w in weights),
    )


def _moved_by_averages(analysis: Analysis, weights: list[Revived], averages: tuple[str, ...]) -> Problem:
    names, first = names_of(analysis, (w.tensor for w in weights)), weights[0]
    optimizer = analysis.capture.placement.optimizers[first.step.optimizer]
    key = averages[0]
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'was', 'were')} pruned with a mask that is applied to the "
        f"{agree(names, 'gradient', 'gradients')} as well, and {optimizer.type} still moves the pruned weights: {key} holds "
        "an average of gradients from before the pruning",
        f'Apply the mask to the state as well: `optimizer.state[p]["{key}"].mul_(mask)`; or apply it to the weights after '
        "each step().",
        analysis.places((first.masked, "mask applied here"), (first.step, "pruned weights updated here")),
        (*names, key),
        ops=tuple(w.masked.index for w in weights),
    )
