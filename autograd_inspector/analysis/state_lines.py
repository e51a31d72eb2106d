"""The lines that make, assign or drop optimizer state, as the source has them."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizer_names import variable
from autograd_inspector.model.event import Change
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord

_MOST = 6
_ROLES = {"assigned": "state is assigned here", "removed": "state is removed here"}


def made_by_class(analysis: Analysis, optimizer: OptimizerRecord, keys: Collection[str]) -> tuple[Location, ...]:
    """Where the user's own optimizer class makes these entries of its state."""
    own = [c for c in analysis.capture.changes if c.kind == "state_line" and c.optimizer == optimizer.id]
    made = [c for c in own if c.detail[0] == "assigned" and set(c.detail[2:]) & set(keys)]
    return dedupe_locations(
        place for c in made[:_MOST] for place in analysis.user_frames(c.site, f"{optimizer.type} makes its state here")
    )


def assigned_by_program(
    analysis: Analysis, optimizer: OptimizerRecord, keys: Collection[str] = ()
) -> tuple[Location, ...]:
    """Where the program around an optimizer writes to its state; ``keys``: to these, or to all of a parameter's."""
    found = [
        (c, place)
        for c in analysis.capture.changes
        if c.kind == "state_line" and c.optimizer < 0 and _is_of(analysis, optimizer, c.detail[1])
        if not keys or not c.detail[2:] or set(c.detail[2:]) & set(keys)
        for place in analysis.user_frames(c.site, _ROLES[c.detail[0]])
    ]
    found.sort(key=lambda pair: _urgency(pair[0]))
    return dedupe_locations(place for _, place in found[:_MOST])


def _urgency(change: Change) -> int:
    """What names its keys tells most, what removes state least."""
    return 2 if change.detail[0] == "removed" else 0 if change.detail[2:] else 1


def _is_of(analysis: Analysis, optimizer: OptimizerRecord, receiver: str) -> bool:
    """Whether an expression may be that optimizer: many things have a ``state``."""
    last = _last(receiver)
    if last == _last(variable(analysis, optimizer)):
        return True
    others = {_last(variable(analysis, other)) for other in analysis.capture.placement.optimizers}
    return last not in others and "opt" in last.lower()


def _last(expression: str) -> str:
    return expression.rpartition(".")[2]
