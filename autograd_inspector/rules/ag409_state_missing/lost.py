"""AG409 where each step begins the state again: it was cleared, or the loop makes a new optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.left_out import made_once
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.lost_state import lost_states
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.state_lines import assigned_by_program
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remove
from autograd_inspector.model.wording import join_names, summarize_names


def never_kept(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that steps with new state each time."""
    for lost in lost_states(analysis):
        capture, last = analysis.capture, lost.steps[-1]
        optimizer = capture.placement.optimizers[last.optimizer]
        names = names_of(analysis, lost.tensors)
        entries = _entries(analysis, last.optimizer)
        kept = f" ({join_names(entries)})" if entries else ""
        stepped = analysis.user_frames(last.site, "step() starts without state here")
        if lost.renewed:
            text = (
                f"a new {optimizer.type} is created for each step, so the state of {summarize_names(names)}{kept} starts "
                "at zero in each step, and nothing is averaged over steps"
            )
            fix = f"Create {optimizer.type} once, before the loop."
            places = [*analysis.user_frames(optimizer.site, "created for each step here"), *stepped]
            cures = tuple(made_once(analysis, optimizer.site))
        else:
            text = (
                f"{optimizer.type} has no state for {summarize_names(names)} at the start of a step: the state from the previous "
                f"step{kept} was removed, so nothing is averaged over steps"
            )
            fix = f"Do not clear or replace {variable(analysis, optimizer)}.state between steps."
            removed = assigned_by_program(analysis, optimizer)
            places = [*removed, *stepped]
            cures = tuple((Remove(place),) for place in removed[:1])
        yield Problem("warning", text, fix, tuple(places), tuple(names), ops=(last.op,), cures=cures)


def _entries(analysis: Analysis, optimizer: int) -> list[str]:
    """What the optimizer keeps for a parameter."""
    rows = analysis.capture.placement.rows_of.get(optimizer, ())
    return list(dict.fromkeys(entry.name for row in rows for entry in row.state if entry.key != "step"))
