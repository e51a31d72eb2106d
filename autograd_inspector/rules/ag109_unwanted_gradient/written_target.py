"""AG109: a target that was data until values with a graph were written into it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.cuts import detached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.written_targets import written_targets
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def filled_targets(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that takes such a target."""
    for found in written_targets(analysis):
        names, target = [name_of(analysis, tensor) for tensor in found.parameters], name_of(analysis, found.target)
        made = analysis.flow.birth(found.value)
        yield Problem(
            "warning",
            f"`{found.compared.name}` takes {target} as its target, and the values that are written into {target} have a graph: "
            f"backward() also moves them towards the prediction, through {summarize_names(names)}",
            "detach() the values that are written into the target: `target[index] = values.detach()`.",
            analysis.places(
                (found.written, "values with a graph written into the target here"),
                (found.compared, "taken as the target here"),
                (made, "computed with a graph here"),
            ),
            (target, *names),
            ops=(found.compared.index, found.written.index),
            cures=tuple(detached(analysis, made)) if made is not None else (),
        )
