"""AG501 where a graph of an earlier round raises nothing, for it needs no saved tensor: its values are out of date."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.carried_graphs import carried_name
from autograd_inspector.advice.kept_tensors import kept_by, kept_places
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.graphs import computed_again
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.outdated import outdated
from autograd_inspector.model.finding import Problem


def outdated_values(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that computed them."""
    for found in outdated(analysis):
        name, parameter = carried_name(analysis, found.reader, found.tensor), name_of(analysis, found.parameter)
        yield Problem(
            "warning",
            f"{name} was computed from {parameter} before its last {len(found.steps)} steps, and `{found.reader.name}` still "
            f"uses it: {parameter} is stepped with its gradient, and the values of {name} stay what they were",
            f"Compute {name} from {parameter} again in each iteration.",
            (
                *analysis.places((found.made, "computed here, once")),
                *kept_places(analysis, kept_by(analysis, found.tensor)),
                *analysis.places((found.reader, "used again here"), (found.run, "backward called here")),
            ),
            (name, parameter),
            ops=(found.made.index, found.reader.index),
            cures=tuple(computed_again(analysis, found.made, found.reader)),
        )
