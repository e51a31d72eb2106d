"""AG101: a hidden state that is detached in every step of a recurrence."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.cut_problems import described
from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.cuts import attached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.carried_state import CarriedState, carried_states
from autograd_inspector.analysis.op_kinds import spelled
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def truncated(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line; where the cut starves parameters, that is told of it."""
    starving = {op.index for cut in analysis.told_cuts if not cut.partial for op in cut.ops}
    for found in carried_states(analysis):
        if starving.isdisjoint(op.index for op in found.ops):
            yield _problem(analysis, found)


def _problem(analysis: Analysis, found: CarriedState) -> Problem:
    cut = found.ops[-1]
    what, state, names = spelled(cut.name), described(analysis, cut), names_of(analysis, found.parameters)
    return Problem(
        "warning",
        f"{what} cuts {state} from the graph in each of {len(found.ops)} iterations before one backward(), and nothing else "
        f"carries a gradient from one iteration to the previous one: {summarize_names(names)} {agree(names, 'learns', 'learn')} "
        "nothing about how a state depends on earlier inputs",
        f"Use the state itself instead of {what}. To limit the length of the graph, detach the state only after each "
        "backward(), or every k iterations (truncated backpropagation through time).",
        analysis.places((cut, "detached here in each iteration"), (found.backward, "backward called here")),
        (*names, state),
        ops=tuple(op.index for op in found.ops),
        cures=tuple(attached(analysis, found.ops)),
    )
