"""Samples that a program keeps, and that it augments in place each time they come by: the changes add up over epochs.

What is kept may be one tensor for each sample, or one large tensor, of whose parts some places are overwritten. What is
computed in place with a part is another case: see ``rewritten_data``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.draws import draws
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.INNER


class AugmentedAgain(Struct, frozen=True):
    """``op`` is the last of a line that changed ``count`` tensors in turn, one of them (``tensor``) ``times`` times.

    ``parts``: these are views of parts of one tensor.
    """

    op: Op
    tensor: int
    count: int
    times: int
    parts: bool


_Kept = tuple[int, int, int]
"""(storage, offset, extent) of a part that a line writes to; (storage, -1, -1) of what may be all of its memory."""


def augmented_again(analysis: Analysis) -> Iterator[AugmentedAgain]:
    """One for each function that does so: a line came back to memory that it had changed, having changed other memory.

    A constant that is written to the same places each time changes nothing again, so the places have to be drawn; what
    is computed with the old values is something else each time. Memory that takes in anything else, that began as a
    constant or that depends on parameters is a state, and there to be changed.
    """
    ends = analysis.rounds.ends
    lines: dict[object, list[tuple[Op, _Kept]]] = {}
    for op in analysis.capture.ops if len(ends) > 1 else ():
        if len(op.writes) == 1 and not op.recorded and not op.has(_ASIDE) and _may_add_up(analysis, op):
            kept, line = _kept(analysis, op), line_of(analysis, op.site)
            if kept[0] >= 0 and line is not None and _is_data(analysis, op.writes[0].tensor):
                lines.setdefault(line, []).append((op, kept))
    told: set[object] = set()
    for changes in lines.values():
        op, kept = changes[-1]
        place = analysis.capture.place(op.site)
        key = None if place is None else (place.filename, place.function)
        times = len({bisect_right(ends, each.index) for each, of in changes if of == kept})
        if key not in told and times > 1 and _comes_back(changes) and _adds_up(analysis, changes):
            told.add(key)
            yield AugmentedAgain(op, op.writes[0].tensor, len({of for _, of in changes}), times, kept[1] >= 0)


def _kept(analysis: Analysis, op: Op) -> _Kept:
    """What a line changes some places of: where an index says which, the tensor that is indexed, if that is a view."""
    write = op.writes[0]
    record, born = analysis.capture.tensors[write.tensor], analysis.flow.birth(write.tensor)
    view = born is not None and is_a(born.name, OpKind.VIEWS)
    if is_a(op.name, OpKind.IN_PLACE_ONLY) or not is_a(op.name, OpKind.SETS_NUMBER) or not view:
        return write.storage, -1, -1
    return write.storage, record.offset, record.extent


def _may_add_up(analysis: Analysis, op: Op) -> bool:
    """Whether it computes with the old values, or writes a plain number over a part of them."""
    tensors = analysis.capture.tensors
    if is_a(op.name, OpKind.ACCUMULATES):
        return True
    numbers = [t for t in op.inputs if tensors[t].dtype.startswith(("float", "bfloat"))]
    return is_a(op.name, OpKind.SETS_NUMBER) and len(numbers) == 1 and not _whole(analysis, op)


def _whole(analysis: Analysis, op: Op) -> bool:
    """Whether it writes all that the program keeps there."""
    if not is_a(op.name, OpKind.IN_PLACE_ONLY):
        return "whole" in analysis.capture.given.get(op.index, {})
    born = analysis.flow.birth(op.writes[0].tensor)
    return born is None or not is_a(born.name, OpKind.VIEWS)


def _is_data(analysis: Analysis, tensor: int) -> bool:
    capture, record = analysis.capture, analysis.capture.tensors[tensor]
    born = analysis.flow.birth(tensor)
    constant = born is not None and is_a(born.name, OpKind.RETURNS_CONSTANT | OpKind.RETURNS_ZEROS)
    own = not record.of_model and not record.requires_grad and record.storage not in capture.stored
    return own and not constant and record.dtype.startswith(("float", "bfloat"))


def _comes_back(changes: list[tuple[Op, _Kept]]) -> bool:
    """Whether a line meets memory again after other memory."""
    last: dict[_Kept, int] = {}
    for at, (_, kept) in enumerate(changes):
        if kept in last and any(other != kept for _, other in changes[last[kept] : at]):
            return True
        last[kept] = at
    return False


def _adds_up(analysis: Analysis, changes: list[tuple[Op, _Kept]]) -> bool:
    """Whether what the last of them changes is data, and each change leaves something of the last one there."""
    op, kept = changes[-1]
    storage = kept[0]
    first = next(each.index for each, of in changes if of == kept)
    writers = [each for each, _ in analysis.writes_in(storage, first, op.index + 1)]
    if not all(_may_add_up(analysis, each) for each in writers):
        return False
    divided = is_a(op.name, OpKind.ACCUMULATES) and any(is_a(each.name, OpKind.DIVIDES) for each in writers)
    if not divided and not _drawn(analysis, changes):
        return False
    exports = (analysis.capture.ops[at] for each in writers for at in analysis.flow.exports.get(each.index, ()))
    given = [(t, each.index) for each in writers for t in each.inputs if analysis.capture.tensors[t].storage != storage]
    given += [(t, each.index) for each in exports for t in each.inputs]
    upstream = [each for each, _ in analysis.flow.upstream(given)]
    read = {t for each in upstream for t in each.inputs}.union(t for t, _ in given)
    return not any(_of_state(analysis, t, first) for t in read) and _feeds_loss(analysis, op)


def _drawn(analysis: Analysis, changes: list[tuple[Op, _Kept]]) -> bool:
    """Whether random numbers were drawn for it: it was given them, or its own function drew them before each change."""
    capture, op = analysis.capture, changes[-1][0]
    if any(draws(each) for each, _ in analysis.flow.upstream([(t, op.index) for t in op.inputs[1:]])):
        return True
    place, before = capture.place(op.site), changes[-2][0].index
    if place is None:
        return False
    between = (capture.place(each.site) for each in capture.ops[before + 1 : op.index] if draws(each))
    return any(
        there is not None and (there.filename, there.function) == (place.filename, place.function) for there in between
    )


def _of_state(analysis: Analysis, tensor: int, since: int) -> bool:
    """Whether it is a model's, came from a backward, or is written to while the program runs."""
    capture, record = analysis.capture, analysis.capture.tensors[tensor]
    if record.of_model or record.storage in capture.stored or (record.birth < 0 and record.first_use > since):
        return True
    writers = (op for op, _ in analysis.writes_in(record.storage, since, len(capture.ops)))
    return any(not is_a(op.name, OpKind.FILLS_RANDOMLY) for op in writers if op.index != record.birth)


def _feeds_loss(analysis: Analysis, op: Op) -> bool:
    run = next(iter(analysis.timeline.runs.since(op.index)), None)
    if run is None:
        return False
    upstream = analysis.flow.upstream([(root, run.start) for root in run.roots])
    return any(each.index == op.index for each, _ in upstream)
