"""Summands of a distributed tensor that a rank computes its loss with, as if each were the sum."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import SummandTaken

_NEAR = 4
"""Ops within ``to_local()``."""
_LINEAR = (
    OpKind.VIEWS
    | OpKind.RESHAPES
    | OpKind.COPIES
    | OpKind.CONVERTS
    | OpKind.ADDS
    | OpKind.SUBTRACTS
    | OpKind.NEGATES
    | OpKind.REDUCES
    | OpKind.MULTIPLIES
    | OpKind.DIVIDES
    | OpKind.MATRIX_MULTIPLIES
    | OpKind.SELECTS
    | OpKind.CONCATENATES
    | OpKind.STACKS
)
"""Of a sum they give the sum of what they give of the summands."""


class SummandUsed(Struct, frozen=True):
    """``run`` differentiates what ``by`` computes with a summand, which is no summand of what it gives of the sum."""

    taken: SummandTaken
    by: Op
    run: Backward


def summands_used(capture: Capture) -> Iterator[SummandUsed]:
    """For each line the first; nothing where what is computed with it becomes distributed, or is exchanged, again."""
    met: set[int] = set()
    for event in capture.events_of(SummandTaken):
        op = next((op for op in capture.ops[event.at : event.at + _NEAR] if is_a(op.name, OpKind.TAKES_PART)), None)
        run = next((run for run in capture.backwards if run.start > event.at), None)
        if op is None or run is None or event.site in met:
            continue
        by = _bent(capture, op, run)
        if by is not None:
            met.add(event.site)
            yield SummandUsed(event, by, run)


def _bent(capture: Capture, op: Op, run: Backward) -> Op | None:
    """The first op on the way to a backward that is not linear in the summand."""
    from_it, by = set(op.outputs), None
    for later in capture.ops[op.index + 1 : run.start]:
        if from_it.isdisjoint(later.inputs):
            continue
        if later.has(Trait.COLLECTIVE) or is_a(later.name, OpKind.SPREADS_OUT):
            return None
        from_it.update(later.outputs)
        if by is None and not is_a(later.name, _LINEAR):
            by = later
    return by if not from_it.isdisjoint(run.roots) else None
