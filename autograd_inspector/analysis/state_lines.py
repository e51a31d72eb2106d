"""The lines that make, assign or drop optimizer state, as the source has them."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizer_names import variable
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import StateAssigned, StateRemoved, StateStatement

_MOST = 6


def made_by_class(analysis: Analysis, optimizer: OptimizerRecord, keys: Collection[str]) -> tuple[Location, ...]:
    """Where the user's own optimizer class makes these entries of its state."""
    own = [s for s in analysis.capture.events_of(StateAssigned) if s.optimizer == optimizer.id]
    made = [s for s in own if set(s.keys) & set(keys)]
    return dedupe_locations(
        place for s in made[:_MOST] for place in analysis.user_frames(s.site, f"{optimizer.type} makes its state here")
    )


def assigned_by_program(
    analysis: Analysis, optimizer: OptimizerRecord, keys: Collection[str] = ()
) -> tuple[Location, ...]:
    """Where the program around an optimizer writes to its state; ``keys``: to these, or to all of a parameter's."""
    found = [
        (statement, place)
        for statement in analysis.capture.events_of(StateStatement)
        if statement.optimizer < 0 and _is_of(analysis, optimizer, statement.receiver)
        if not keys or not statement.keys or set(statement.keys) & set(keys)
        for place in analysis.user_frames(statement.site, _role(statement))
    ]
    found.sort(key=lambda pair: _urgency(pair[0]))
    return dedupe_locations(place for _, place in found[:_MOST])


def _role(statement: StateStatement) -> str:
    return "state is removed here" if isinstance(statement, StateRemoved) else "state is assigned here"


def _urgency(statement: StateStatement) -> int:
    """What names its keys tells most, what removes state least."""
    return 2 if isinstance(statement, StateRemoved) else 0 if statement.keys else 1


def _is_of(analysis: Analysis, optimizer: OptimizerRecord, receiver: str) -> bool:
    """Whether an expression may be that optimizer: many things have a ``state``."""
    last = _last(receiver)
    if last == _last(variable(analysis, optimizer)):
        return True
    others = {_last(variable(analysis, other)) for other in analysis.capture.placement.optimizers}
    return last not in others and "opt" in last.lower()


def _last(expression: str) -> str:
    return expression.rpartition(".")[2]
