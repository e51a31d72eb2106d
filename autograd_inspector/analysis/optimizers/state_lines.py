"""The lines that make, assign or drop optimizer state, as the source has them."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import StateAssigned, StateRemoved, StateStatement

_MOST = 6


def made_by_class(analysis: Analysis, optimizer: OptimizerRecord, keys: Collection[str]) -> tuple[Location, ...]:
    """Where the user's own optimizer class makes these entries of its state."""
    assignments = [s for s in analysis.capture.events_of(StateAssigned) if s.optimizer == optimizer.id]
    made = [s for s in assignments if set(s.keys) & set(keys)]
    return dedupe_locations(
        place
        for s in made[:_MOST]
        for place in analysis.user_frames(s.site, f"{optimizer.type} creates its state here")
    )


def assigned_by_program(
    analysis: Analysis,
    optimizer: OptimizerRecord,
    keys: Collection[str] = (),
    *,
    kind: type[StateStatement] = StateStatement,
) -> tuple[Location, ...]:
    """Where the program around an optimizer writes to its state; ``keys``: to these, or to all of a parameter's.

    Where it was not seen what has the state, it may be the optimizer's. Failing those, so may be the state of what was
    seen to be another optimizer: a function is not looked at in every call.
    """
    statements = [
        statement
        for statement in analysis.capture.events_of(kind)
        if statement.optimizer < 0 and (not keys or not statement.keys or set(statement.keys) & set(keys))
    ]
    statements = [statement for statement in statements if statement.held in {optimizer.id, -1}] or statements
    statements.sort(key=lambda statement: _urgency(statement, optimizer))
    return dedupe_locations(
        place
        for statement in statements[:_MOST]
        for place in analysis.user_frames(statement.site, _role(statement, optimizer))
    )


def is_assigned(analysis: Analysis, optimizer: OptimizerRecord, keys: Collection[str] = ()) -> bool:
    """Whether the program around an optimizer, and not its class, was seen to have its state where that is assigned."""
    assigned = (s for s in analysis.capture.events_of(StateAssigned) if s.optimizer < 0 and s.held == optimizer.id)
    return any(not keys or not s.keys or set(s.keys) & set(keys) for s in assigned)


def _role(statement: StateStatement, optimizer: OptimizerRecord) -> str:
    done = "removed" if isinstance(statement, StateRemoved) else "assigned"
    return f"state {'is' if statement.held == optimizer.id else 'may be'} {done} here"


def _urgency(statement: StateStatement, optimizer: OptimizerRecord) -> tuple[bool, int]:
    """What was seen comes first; what names its keys tells most, what removes state least."""
    return statement.held != optimizer.id, 2 if isinstance(statement, StateRemoved) else 0 if statement.keys else 1
