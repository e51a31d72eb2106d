"""AG301 where backward() was given `inputs`: it stores gradients in these alone, whatever else the loss depends on."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.graphs import RunGraphs
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.wording import agree, summarize_names


def left_out_of_inputs(analysis: Analysis, tensors: Collection[int]) -> tuple[Problem, set[int]] | None:
    """The finding about those that a backward's graph holds and that it was not asked for, and which these are."""
    run, left = _asked_for_others(analysis, tensors)
    if run is None:
        return None
    names = names_of(analysis, sorted(left))
    problem = Problem(
        "warning",
        f"backward() was given `inputs`, and stores gradients in these alone: {summarize_names(names)} "
        f"{agree(names, 'is', 'are')} in the graph of the loss and in an optimizer, but {agree(names, 'gets', 'get')} no gradient",
        f"Leave out `inputs`, or add {agree(names, 'it', 'them')} to the list.",
        analysis.places((run, "backward called here, for the gradients of others")),
        tuple(names),
        cures=at_line(analysis, run.site, lambda place: SetArgument(place, "backward", "inputs", "")),
    )
    return problem, left


def _asked_for_others(analysis: Analysis, tensors: Collection[int]) -> tuple[Backward | None, set[int]]:
    """The last backward whose graph holds some of these and that stored gradients in other leaves only."""
    runs = analysis.capture.completed_runs if tensors else ()
    graphs = RunGraphs(analysis.capture.nodes, runs)
    for place in reversed(range(len(runs))):
        run = runs[place]
        left = graphs.leaves(place).intersection(tensors).difference(run.reached)
        if left and run.reached:
            return run, set(left)
    return None, set()
