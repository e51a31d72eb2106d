"""AG407 where two optimizers write to one state, which a load gave to both."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.state_of_two import StateOfTwo, state_of_two
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand
from autograd_inspector.model.wording import agree, join_names, summarize_names


def one_state_for_two(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that loads it."""
    told: set[int] = set()
    for found in state_of_two(analysis):
        if found.load.site not in told:
            told.add(found.load.site)
            yield _problem(analysis, found)


def _problem(analysis: Analysis, found: StateOfTwo) -> Problem:
    optimizers = analysis.capture.placement.optimizers
    other = optimizers[found.other]
    names, mine, theirs = names_of(analysis, found.tensors), *found.steps
    saved = () if found.saved is None else analysis.user_frames(found.saved.site, "")[:1]
    return Problem(
        "warning",
        f"{found.load.api} copies no tensor: {join_names(found.keys)} of {summarize_names(names)} "
        f"{agree(names, 'is', 'are')} also the state of another {other.type}, and each step() of one optimizer changes the state "
        "of the other",
        f"Load a copy: `copy.deepcopy({variable(analysis, other)}.state_dict())`.",
        analysis.places(
            (found.load, "tensors of the other optimizer loaded here"),
            (found.saved, "not copied here"),
            (mine, "written to by one optimizer here"),
            (theirs, "written to by the other optimizer here"),
        ),
        (found.load.api, *names, *found.keys),
        ops=(theirs.op,),
        cures=tuple((Operand(place, "whole", "copy.deepcopy({})"),) for place in saved),
        safe=True,
    )
