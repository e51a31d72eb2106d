"""AG501 where a graph of an earlier round raises nothing, for it needs no saved tensor: its values are out of date."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.carried_graphs import carried_name
from autograd_inspector.advice.kept_tensors import kept_by, kept_places
from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.graphs import computed_again
from autograd_inspector.advice.remedies.rebound import kept_leaf, written_into_leaf
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.outdated import Outdated, outdated
from autograd_inspector.analysis.gradients.rebound import Rebound, rebound
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def outdated_values(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that computed them."""
    for found in outdated(analysis):
        if (stands_in := rebound(analysis, found.reader)) is not None:
            yield _replaced(analysis, found, stands_in)
            continue
        name, names = carried_name(analysis, found.reader, found.tensor), names_of(analysis, found.parameters)
        parameters = summarize_names(names)
        yield Problem(
            "warning",
            f"{name} was computed from {parameters} before {agree(names, 'its', 'their')} last {len(found.steps)} steps, and "
            f"`{found.reader.name}` still uses it: {parameters} {agree(names, 'is', 'are')} stepped with "
            f"{agree(names, 'its gradient', 'their gradients')}, and the values of {name} stay what they were",
            f"Compute {name} from {parameters} again in each iteration.",
            (
                *analysis.places((found.made, "computed here, once")),
                *kept_places(analysis, kept_by(analysis, found.tensor)),
                *analysis.places((found.reader, "used again here"), (found.run, "backward called here")),
            ),
            (name, *names),
            ops=(found.made.index, found.reader.index),
            cures=tuple(computed_again(analysis, found.made, found.reader)),
        )


def _replaced(analysis: Analysis, found: Outdated, stands_in: Rebound) -> Problem:
    """The variable of the leaf has something else in it by now."""
    name = name_of(analysis, stands_in.leaf)
    return Problem(
        "warning",
        f"{name} was replaced by a tensor computed from it: the optimizer still holds the first {name}, and its last "
        f"{len(found.steps)} steps do not reach the values that `{found.reader.name}` uses",
        written_into_leaf(name),
        analysis.places(
            (stands_in.made, "replaced here"), (found.reader, "used here"), (found.run, "backward called here")
        ),
        (name,),
        ops=(stands_in.made.index,),
        cures=tuple(kept_leaf(analysis, stands_in)),
    )
