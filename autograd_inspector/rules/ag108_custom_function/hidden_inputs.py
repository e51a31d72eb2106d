"""AG108: a forward that computes with tensors which the Function was not given as arguments."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.hidden_inputs import hidden_inputs
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def computing_with_others(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that applies such a Function."""
    explained = {tensor for cut in analysis.harmful_cuts for tensor in cut.parameters}
    for found in hidden_inputs(analysis):
        if explained.issuperset(found.starved):
            continue
        function = found.applied.name.removesuffix(".apply")
        read, lost = names_of(analysis, found.tensors), names_of(analysis, found.starved)
        who = agree(read, "it", "they") if read == lost else summarize_names(lost)
        effect = f"{who} {agree(lost, 'gets', 'get')} no gradient"
        yield Problem(
            "warning",
            f"{function}.forward computes with {summarize_names(read)}, which {agree(read, 'is', 'are')} not among the "
            f"arguments of {function}.apply: autograd has no edge to {agree(read, 'it', 'them')}, and {effect}",
            f"Pass {summarize_names(read)} to {function}.apply as {agree(read, 'an argument', 'arguments')}, and return "
            f"{agree(read, 'its gradient', 'their gradients')} from {function}.backward.",
            analysis.places(
                (found.applied, "applied here"),
                (found.read, "used in forward here"),
                (analysis.capture.function_sites.get(function, -1), "backward is defined here"),
            ),
            tuple(dict.fromkeys((function, *read, *lost))),
            ops=(found.applied.index,),
        )
