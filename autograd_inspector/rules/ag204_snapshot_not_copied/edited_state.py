"""AG204: entries of a state_dict that are edited for another model, and are the tensors of the first one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.edited_states import edited_states
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand
from autograd_inspector.model.wording import agree, summarize_names

_CLONED = "{k: v.clone() for k, v in {}.items()}"


def edited_state(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each load."""
    for found in edited_states(analysis):
        names = names_of(analysis, found.tensors)
        place = analysis.capture.place(found.taken.site)
        yield Problem(
            "warning",
            f"`{found.edited.name}` changes {summarize_names(names)} in place through the entries of state_dict(), which are the "
            f"model's own tensors: another model loads them, and this one also computes with the new "
            f"{agree(names, 'value', 'values')}",
            "Edit a copy: `state = {name: value.clone() for name, value in model.state_dict().items()}`.",
            analysis.places(
                (found.taken, "taken without a copy here"),
                (found.edited, "changed in place here"),
                (found.loaded, "loaded into another model here"),
                (found.used, "used by the first model here"),
            ),
            (*names, "state_dict"),
            ops=(found.edited.index,),
            cures=() if place is None else ((Operand(place, "whole", _CLONED),),),
        )
