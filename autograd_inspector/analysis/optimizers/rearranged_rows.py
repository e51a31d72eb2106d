"""Parameters whose rows the program puts into another order, while the optimizer's state keeps the old one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.placement_rows import ParameterRow

_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.INNER
_SAME_ROWS = OpKind.COPIES | OpKind.DETACHES | OpKind.ALIASES


class RearrangedRows(Struct, frozen=True):
    """``written`` gave each of ``tensors`` its own rows back in the order of an index, which ``picked`` applied.

    ``entries``: state of their shape that ``before`` left and ``following`` went on with, in the order of old.
    """

    optimizer: int
    tensors: tuple[int, ...]
    written: Op
    picked: Op
    entries: tuple[str, ...]
    before: Step
    following: Step


def rearranged_rows(analysis: Analysis) -> Iterator[RearrangedRows]:
    """One for each optimizer and line, with all parameters that it rearranged between the same two steps.

    Nothing is known of state that was written, loaded or made in between, nor of an index that rearranges something
    else of the parameter's shape as well: what an entry was before it was assigned again, no record says.
    """
    found: dict[tuple[int, object], list[RearrangedRows]] = {}
    stated = {row.tensor: row for row in analysis.capture.placement.rows if row.optimizer >= 0 and _moments(row)}
    memory = {analysis.capture.tensors[tensor].storage: tensor for tensor in stated} if analysis.capture.steps else {}
    for op in analysis.capture.ops if memory else ():
        if op.writes and not op.has(_ASIDE):
            tensor = memory.get(op.writes[0].storage, -1)
            picked = _own_rows(analysis, op, tensor) if tensor >= 0 else None
            each = _kept_state(analysis, stated[tensor], op, picked) if picked is not None else None
            if each is not None:
                found.setdefault((each.optimizer, line_of(analysis, op.site)), []).append(each)
    for group in found.values():
        first = group[0]
        together = tuple(dict.fromkeys(t for each in group if each.following == first.following for t in each.tensors))
        yield RearrangedRows(
            first.optimizer, together, first.written, first.picked, first.entries, first.before, first.following
        )


def _moments(row: ParameterRow) -> tuple[str, ...]:
    """The state that has a number for each of the parameter's, where it has rows."""
    rows = bool(row.shape) and row.shape[0] > 1
    return tuple(entry.name for entry in row.state if rows and entry.shape == row.shape)


def _own_rows(analysis: Analysis, op: Op, tensor: int) -> Op | None:
    """The op that picked what is written out of the parameter itself, by an index, where all of it is written."""
    tensors, own = analysis.capture.tensors, analysis.capture.tensors[tensor]
    values = [t for t in op.inputs if tensors[t].storage != own.storage]
    if len(values) != 1 or tensors[values[0]].shape != own.shape:
        return None
    made = analysis.flow.birth(values[0])
    while made is not None and made.inputs and is_a(made.name, _SAME_ROWS):
        made = analysis.flow.birth(made.inputs[0])
    if made is None or not is_a(made.name, OpKind.SELECTS) or len(made.inputs) != 2:
        return None
    source, index = (tensors[t] for t in made.inputs)
    whole = tensors[op.writes[0].tensor]
    same = all(record.storage == own.storage and record.shape == own.shape for record in (source, whole))
    return made if same and index.dtype.startswith("int") else None


def _kept_state(analysis: Analysis, row: ParameterRow, op: Op, picked: Op) -> RearrangedRows | None:
    timeline = analysis.timeline
    before = next(timeline.steps_of(row.optimizer).before(op.index), None)
    following = next((step for step in timeline.steps_of(row.optimizer).since(op.index) if not step.error), None)
    if before is None or following is None:
        return None
    met = next((p for p in following.parameters if p.tensor == row.tensor), None)
    begun = met is None or met.gradient < 0 or met.begun
    if begun or timeline.loads_of(row.optimizer).within(before.at, following.start):
        return None
    if _moved_too(analysis, row, picked, before.at, following.start):
        return None
    return RearrangedRows(row.optimizer, (row.tensor,), op, picked, _moments(row), before, following)


def _moved_too(analysis: Analysis, row: ParameterRow, picked: Op, start: int, end: int) -> bool:
    """Whether the state may have been rearranged in between, or was made since."""
    capture, tensors = analysis.capture, analysis.capture.tensors
    for entry in row.state:
        born = tensors[entry.tensor].birth if entry.tensor >= 0 else -1
        written = any(True for _ in analysis.writes_in(entry.storage, start + 1, end)) if entry.storage >= 0 else False
        if entry.shape == row.shape and (born > start or written):
            return True
    index, own = tensors[picked.inputs[1]].storage, tensors[row.tensor].storage
    others = (capture.ops[at] for at in range(start + 1, end))
    return any(
        tensors[op.inputs[0]].storage not in {own, *capture.stored}
        and tensors[op.inputs[0]].shape == row.shape
        and any(tensors[t].storage == index for t in op.inputs[1:])
        for op in others
        if len(op.inputs) > 1
    )
