"""Snapshots that became the memory of a parameter: assigned to ``.data`` without a copy, changed there, assigned again.

``vector_to_parameters()`` assigns views of the vector. Who writes to the parameters through what was assigned (a flat
vector that is stepped itself) has one memory for both on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD
_SHOWS = OpKind.VIEWS | OpKind.ALIASES


class GivenSnapshot(Struct, frozen=True):
    """``given`` made ``snapshot`` the memory of ``parameter``, ``changed`` wrote to that, ``used`` restores it."""

    snapshot: int
    parameter: int
    given: Op
    changed: Op
    used: Op


def given_snapshots(analysis: Analysis) -> Iterator[GivenSnapshot]:
    """One record for each op that writes a snapshot into the memory that the snapshot is."""
    given: dict[int, Op] = {}
    """Tensor -> the last assignment to its ``.data`` that gave it other memory."""
    for op in analysis.capture.ops:
        if op.has(_ASIDE) or not op.inputs:
            continue
        if assigns(op) and op.writes:
            given[op.writes[0].tensor] = op
        elif given and len(op.inputs) > 1 and (assigns(op) or is_a(op.name, OpKind.COPIES_INTO)):
            source, target = op.inputs[:2] if assigns(op) else op.inputs[1::-1]
            parameter = _shown(analysis, target)
            first = given.get(parameter)
            found = None if first is None else _found(analysis, first, op, source, parameter)
            if found is not None:
                yield found


def _found(analysis: Analysis, given: Op, used: Op, source: int, parameter: int) -> GivenSnapshot | None:
    tensors, snapshot = analysis.capture.tensors, _shown(analysis, source)
    now, then = tensors[source], tensors[given.inputs[0]]
    if (now.storage, now.offset, now.shape) != (then.storage, then.offset, then.shape) or now.storage < 0:
        return None
    if snapshot == parameter or snapshot != _shown(analysis, given.inputs[0]):
        return None
    changed = None
    for op, write in analysis.writes_in(now.storage, given.index + 1, used.index):
        through = _shown(analysis, write.tensor)
        if through == snapshot:
            return None
        if through == parameter and not assigns(op):
            changed = op
    return None if changed is None else GivenSnapshot(snapshot, parameter, given, changed, used)


def _shown(analysis: Analysis, tensor: int) -> int:
    """The tensor that one is a view, or an alias, of: the first of them that the program had."""
    while (made := analysis.flow.birth(tensor)) is not None and made.inputs and is_a(made.name, _SHOWS):
        tensor = made.inputs[0]
    return tensor
