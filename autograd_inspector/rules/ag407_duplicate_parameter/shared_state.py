"""AG407 where parameters have one tensor as their state, into which step() writes for each of them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.optimizers.shared_state import shared_state
from autograd_inspector.analysis.optimizers.state_lines import assigned_by_program, made_by_class
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Substitute
from autograd_inspector.model.wording import agree, join_names, summarize_names


def one_state_for_several(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer."""
    for number, found in grouped(shared_state(analysis), lambda shared: shared.optimizer).items():
        optimizer = analysis.capture.placement.optimizers[number]
        names = names_of(analysis, dict.fromkeys(tensor for shared in found for tensor in shared.tensors))
        keys = list(dict.fromkeys(shared.key for shared in found))
        made = made_by_class(analysis, optimizer, keys) or assigned_by_program(analysis, optimizer, keys)
        steps = analysis.timeline.steps_of(number).all
        yield Problem(
            "warning",
            f"{join_names(keys)} in the state of {optimizer.type} {agree(keys, 'is one tensor', 'are tensors')} that several "
            f"parameters share, {summarize_names(names)}: step() writes into it for each of them, so their statistics mix",
            f"Give each parameter its own tensor: `state[{keys[0]!r}] = torch.zeros_like(p)`, or a `.clone()` of one "
            "that was made before.",
            (*made, *analysis.user_frames(steps[-1].site if steps else -1, "step() called here")),
            (*names, *keys),
            ops=(steps[-1].op,) if steps else (),
            cures=(tuple(Substitute(place, "", "{}.clone()") for place in made),) if made else (),
        )
