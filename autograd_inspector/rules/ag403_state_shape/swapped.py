"""AG403 where a load gave parameters the state of others: it matches by position."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.selections import ordered_at
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import StateSwapped
from autograd_inspector.model.remedy import Remedies, Remove
from autograd_inspector.model.rewrites import SwapParts
from autograd_inspector.model.wording import join_names

SAME_ORDER = "Build the optimizer from the same parameters in the same order and groups as the saved optimizer."


def state_swapped(analysis: Analysis, swap: StateSwapped) -> Problem:
    """State matched by position that was another parameter's of the same optimizer."""
    names = [name_of(analysis, t) for t in swap.tensors]
    new, old = swap.pairs[0]
    optimizer = analysis.capture.placement.optimizers[swap.optimizer]
    got = {row.tensor: row.state for row in analysis.capture.placement.rows_of.get(optimizer.id, ())}
    kinds = [entry.name for t, _ in swap.pairs for entry in got.get(t, ()) if entry.name != "step"]
    what = f"the {join_names(kinds, 4)}" if kinds else "the state"
    others = [f"{name_of(analysis, to)} that of {name_of(analysis, of)}" for to, of in swap.pairs[1:]]
    raised = any(step.error for step in analysis.timeline.steps_of(swap.optimizer).all)
    return Problem(
        "error" if raised else "warning",
        f"{swap.api} matched state by position, but the parameters are in a different order than when it was saved"
        f"{' (by their param_names)' if swap.by_name else ''}: {name_of(analysis, new)} got {what} of "
        f"{name_of(analysis, old)}{', ' if others else ''}{join_names(others, 3)}",
        f"{SAME_ORDER[:-1]}{_renumbered(analysis, optimizer)}." if swap.by_name else SAME_ORDER,
        (
            *analysis.user_frames(swap.site, "state loaded here"),
            *ordered_at(analysis, optimizer.site),
            *analysis.user_frames(optimizer.site, "optimizer created here"),
        ),
        tuple(names),
        cures=tuple(_kept(analysis, swap) if _has_its_own(analysis, swap) else in_another_order(analysis, optimizer)),
    )


def _has_its_own(analysis: Analysis, swap: StateSwapped) -> bool:
    """Whether the optimizer had made state of its own by then, which a load in the wrong order replaced."""
    return any(step.optimizer == swap.optimizer and step.at < swap.at for step in analysis.capture.steps)


def _kept(analysis: Analysis, swap: StateSwapped) -> Iterator[Remedies]:
    """The optimizer goes on with its own state."""
    yield from at_line(analysis, swap.site, lambda place: Remove(place, "load_state_dict"))


def in_another_order(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Remedies]:
    """The two lists that the optimizer was made of change places: of two there is no other order."""
    yield from at_line(analysis, optimizer.site, SwapParts)


def _renumbered(analysis: Analysis, optimizer: OptimizerRecord) -> str:
    """Statements that load the state by the names in the groups."""
    name = variable(analysis, optimizer)
    return (
        """, or renumber the state by name: `names = [n for g in checkpoint["param_groups"] for n in g["param_names"]]`, """
        f"""`own = [n for g in {name}.param_groups for n in g["param_names"]]`, `{name}.load_state_dict({{"state": """
        """{i: checkpoint["state"][names.index(n)] for i, n in enumerate(own) if names.index(n) in checkpoint["state"]}, """
        f""""param_groups": {name}.state_dict()["param_groups"]}})` (learning rates and other settings stay as they are)"""
    )
