"""Weights that a value computed from trained parameters is added to again and again, with nothing that takes it out.

An adapter that each evaluation merges: the weight has all its earlier versions in it by then, one on top of the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.memory.ledger import Ledger
from autograd_inspector.analysis.modules.additions import Additions
from autograd_inspector.model.op import Op


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
    additions = Additions(analysis)
    ledger: Ledger | None = None
    lines = grouped(additions.all, lambda added: (line_of(analysis, added[1].site), added[0]))
    told: set[int] = set()
    for (_, into), added in lines.items():
        if len(added) > 1 and into not in told:
            ledger = ledger or Ledger(analysis)
            found = _found(analysis, additions, ledger, into, [op for _, op in added])
            if found is not None:
                told.add(into)
                yield found


def _found(analysis: Analysis, additions: Additions, ledger: Ledger, into: int, writes: list[Op]) -> MergedAgain | None:
    for before, first, again in zip([None, *writes], writes, writes[1:], strict=False):
        between = ledger.by_hand(into, first.index + 1, again.index)
        sources = additions.sources(into, again) if not between else ()
        if not sources or set(sources) != set(additions.sources(into, first)):
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
