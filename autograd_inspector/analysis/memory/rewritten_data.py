"""Data that the rounds of a training go through part by part, and change in memory each time they come by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.INNER


class RewrittenData(Struct, frozen=True):
    """``op`` computes in place with ``part``, a view that ``taken`` made of ``whole``, as ``ops`` of its line did before.

    ``times``: so often that line changed the same part of ``whole``, in as many rounds.
    """

    op: Op
    ops: tuple[Op, ...]
    taken: Op
    part: int
    whole: int
    times: int


def rewritten_data(analysis: Analysis) -> Iterator[RewrittenData]:
    """One for each data set and line: the line comes back to a part that it has changed, having changed others meanwhile.

    What is computed of parameters on the way is a state (a memory, a table of priorities), and what begins as a constant
    counts something: both are there to be changed.
    """
    lines: dict[tuple[object, int], list[tuple[Op, int, Op]]] = {}
    for op in analysis.capture.ops if len(analysis.rounds.ends) > 1 else ():
        if op.writes and is_a(op.name, OpKind.ACCUMULATES) and not op.has(_ASIDE) and not op.recorded:
            for write in op.writes:
                taken = _taken(analysis, write.tensor)
                line = line_of(analysis, op.site)
                if taken is not None and line is not None:
                    lines.setdefault((line, write.storage), []).append((op, write.tensor, taken))
    told: set[int] = set()
    for (_, storage), changes in lines.items():
        found = _found(analysis, storage, changes) if storage not in told else None
        if found is not None:
            told.add(storage)
            yield found


def _taken(analysis: Analysis, tensor: int) -> Op | None:
    """The op that made it as a view of a part of a larger tensor; None: it is all of its memory, or no view."""
    tensors, ops = analysis.capture.tensors, analysis.capture.ops
    while (birth := tensors[tensor].birth) >= 0:
        made, record = ops[birth], tensors[tensor]
        within = next((t for t in made.inputs if tensors[t].storage == record.storage >= 0), None)
        if within is None:
            return None
        if tensors[within].extent > record.extent:
            return made
        tensor = within
    return None


def _found(analysis: Analysis, storage: int, changes: list[tuple[Op, int, Op]]) -> RewrittenData | None:
    tensors, ends = analysis.capture.tensors, analysis.rounds.ends
    rounds: dict[tuple[int, int], set[int]] = {}
    for op, part, _ in changes:
        record = tensors[part]
        rounds.setdefault((record.offset, record.extent), set()).add(bisect_right(ends, op.index))
    op, part, taken = changes[-1]
    times = max(map(len, rounds.values()))
    if times < 2 or not _apart(list(rounds)) or not tensors[part].dtype.startswith(("float", "bfloat")):
        return None
    whole = _whole(analysis, taken)
    if _is_state(analysis, storage, whole, changes) or not _feeds_loss(analysis, op):
        return None
    return RewrittenData(op, tuple(each for each, _, _ in changes), taken, part, whole, times)


def _apart(parts: list[tuple[int, int]]) -> bool:
    """Whether two of the (offset, extent) share no byte."""
    ordered = sorted(parts)
    return any(offset + extent <= ordered[-1][0] for offset, extent in ordered[:-1])


def _whole(analysis: Analysis, taken: Op) -> int:
    """The tensor that the view is a part of, as the program keeps it."""
    tensors = analysis.capture.tensors
    storage = tensors[taken.outputs[0]].storage
    return next(t for t in taken.inputs if tensors[t].storage == storage)


def _is_state(analysis: Analysis, storage: int, whole: int, changes: list[tuple[Op, int, Op]]) -> bool:
    """Whether the memory is a model's, began as a constant, or takes in something else than arithmetic on itself."""
    capture = analysis.capture
    born = analysis.flow.birth(whole)
    if storage in capture.stored or capture.tensors[whole].of_model:
        return True
    if born is not None and is_a(born.name, OpKind.RETURNS_CONSTANT | OpKind.RETURNS_ZEROS):
        return True
    first = changes[0][0].index
    if any(not is_a(op.name, OpKind.ACCUMULATES) for op, _ in analysis.writes_in(storage, first, len(capture.ops))):
        return True
    given = [(t, op.index) for op, part, _ in changes for t in op.inputs if t != part]
    return any(
        capture.tensors[read].kind == "parameter" for op, _ in analysis.flow.upstream(given) for read in op.inputs
    )


def _feeds_loss(analysis: Analysis, op: Op) -> bool:
    """Whether a backward that follows runs from something that the change went into."""
    run = next(iter(analysis.timeline.runs.since(op.index)), None)
    if run is None:
        return False
    upstream = analysis.flow.upstream([(root, run.start) for root in run.roots])
    return any(each.index == op.index for each, _ in upstream)
