"""Weights that a value computed from trained parameters is added to again and again, with nothing that takes it out.

An adapter that each evaluation merges: the weight has all its earlier versions in it by then, one on top of the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.memory.ledger import ASIDE, Ledger, written_from
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import Op, Trait

_SUMS = OpKind.ADDS | OpKind.SUBTRACTS
_OPERANDS = 2


class MergedAgain(Struct, frozen=True):
    """``writes``, of one line, added what was computed from ``sources`` to ``into``; ``step`` moved these in between.

    ``run`` is the op at which a backward began in between, of a loss that was computed with both.
    """

    into: int
    sources: tuple[int, ...]
    writes: tuple[Op, ...]
    step: Op
    run: int


def merged_again(analysis: Analysis) -> Iterator[MergedAgain]:
    """The first time for each weight and line.

    Not of an average, which is multiplied in between or computed from itself; nor of a merge whose sources begin anew.
    """
    capture = analysis.capture
    owned = {capture.tensors[t].storage: t for t in capture.owners if capture.tensors[t].storage >= 0}
    trained = {capture.tensors[t].storage: t for t in analysis.optimized_trainable if capture.tensors[t].storage >= 0}
    if not trained or len(capture.steps) < 1:
        return
    ledger: Ledger | None = None
    lines: dict[tuple[object, int], list[Op]] = {}
    for op in writing(capture):
        into = owned.get(op.writes[0].storage, -1) if len(op.writes) == 1 and not op.has(ASIDE | Trait.INNER) else -1
        if into >= 0 and addend_of(analysis, op, into) >= 0:
            lines.setdefault((line_of(analysis, op.site), into), []).append(op)
    told: set[int] = set()
    for (_, into), writes in lines.items():
        if len(writes) > 1 and into not in told:
            ledger = ledger or Ledger(analysis)
            found = _found(analysis, ledger, into, writes, trained)
            if found is not None:
                told.add(into)
                yield found


def addend_of(analysis: Analysis, op: Op, into: int) -> int:
    """What an op adds to a parameter, in place or in a new tensor that it copies there; -1: it does something else."""
    tensors, flow = analysis.capture.tensors, analysis.flow
    source = written_from(op, op.writes[0])
    summed = op if source is None else flow.birth(source)
    if summed is None or not is_a(summed.name, _SUMS) or len(summed.inputs) != _OPERANDS:
        return -1
    own = [tensors[tensor].storage == tensors[into].storage for tensor in summed.inputs]
    return summed.inputs[1] if own == [True, False] else summed.inputs[0] if own == [False, True] else -1


def _found(
    analysis: Analysis, ledger: Ledger, into: int, writes: list[Op], trained: dict[int, int]
) -> MergedAgain | None:
    for before, first, again in zip([None, *writes], writes, writes[1:], strict=False):
        between = ledger.by_hand(into, first.index + 1, again.index)
        sources = sources_of(analysis, into, again, trained) if not between else ()
        if not sources or set(sources) != set(sources_of(analysis, into, first, trained)):
            continue
        if any(ledger.by_hand(source, first.index + 1, again.index) for source in sources):
            continue
        if before is not None and _stepped(analysis, sources, before.index, first.index) is None:
            continue  # The line ran twice with the same values: it may have taken out what it had added.
        step = _stepped(analysis, sources, first.index, again.index)
        run = _run(analysis, ledger, into, sources, first.index, again.index) if step is not None else -1
        if step is not None and run >= 0:
            return MergedAgain(into, sources, tuple(writes), step, run)
    return None


def sources_of(analysis: Analysis, into: int, op: Op, trained: dict[int, int]) -> tuple[int, ...]:
    """The trained parameters that the addend was computed from; none, where data went into it, or what it is added to."""
    capture = analysis.capture
    own = capture.tensors[into].storage
    sources: dict[int, None] = {}
    addend = addend_of(analysis, op, into)
    seen = {addend}
    above = list(analysis.flow.upstream([(addend, op.index)]))
    made = {each.index for each, _ in above}
    seen.update(read for each, _ in above for read in each.inputs)
    for tensor in sorted(seen):
        record = capture.tensors[tensor]
        if record.storage == own or record.given or record.kind == "input":
            return ()
        if record.storage in trained:
            sources[trained[record.storage]] = None
        elif record.birth not in made and not record.of_model and record.shape:
            return ()
    return tuple(sources)


def _stepped(analysis: Analysis, sources: tuple[int, ...], start: int, end: int) -> Op | None:
    """The first step in between that moved all of the sources."""
    for step in analysis.timeline.steps.within(start, end):
        moved = {p.tensor for p in step.parameters if p.gradient >= 0}
        if step.op > start and not step.error and moved.issuperset(sources):
            return analysis.capture.ops[step.op]
    return None


def _run(analysis: Analysis, ledger: Ledger, into: int, sources: tuple[int, ...], start: int, end: int) -> int:
    """The first backward in between that reached the sources, where something was computed with the weight before it."""
    for run in analysis.timeline.backwards.since(start):
        if run.start < end and set(sources) <= set(run.reached) and ledger.computed_with(into, start, run.start):
            return run.start
    return -1
