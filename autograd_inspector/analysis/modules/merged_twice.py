"""Weights that one value is added to twice in a row, and taken out of once: an adapter, merged by each of two ``eval()``."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.memory.ledger import Ledger
from autograd_inspector.analysis.modules.additions import Additions
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op


class MergedTwice(Struct, frozen=True):
    """``first`` and ``again``, of one line, added what ``sources`` make to ``into``; ``undone`` subtracted it."""

    into: int
    sources: tuple[int, ...]
    first: Op
    again: Op
    undone: Op


def merged_twice(analysis: Analysis) -> Iterator[MergedTwice]:
    """The first time for each weight. The sources keep their values meanwhile, and until something else is written there."""
    additions = Additions(analysis)
    ledger: Ledger | None = None
    for into, added in grouped(additions.all, lambda added: added[0]).items():
        ops = [op for _, op in added]
        for first, again, undone, after in zip(ops, ops[1:], ops[2:], [*ops[3:], None], strict=False):
            if not (_adds(first) and _adds(again) and is_a(undone.name, OpKind.SUBTRACTS)):
                continue
            if line_of(analysis, first.site) != line_of(analysis, again.site):
                continue
            ledger = ledger or Ledger(analysis)
            found = _found(analysis, additions, ledger, into, (first, again, undone), after)
            if found is not None:
                yield found
                break


def _adds(op: Op) -> bool:
    return is_a(op.name, OpKind.ADDS) and not is_a(op.name, OpKind.SUBTRACTS)


def _found(
    analysis: Analysis, additions: Additions, ledger: Ledger, into: int, ops: tuple[Op, Op, Op], after: Op | None
) -> MergedTwice | None:
    first, again, undone = ops
    sources = additions.sources(into, first)
    if not sources or any(set(additions.sources(into, op)) != set(sources) for op in (again, undone)):
        return None
    if len(ledger.by_hand(into, first.index, undone.index + 1)) != len(ops):
        return None  # What was written in between may have put the weight back.
    if any(_moved(analysis, source, first.index + 1, undone.index) for source in sources):
        return None
    twice = after is not None and is_a(after.name, OpKind.SUBTRACTS)
    if after is not None and twice and not any(_moved(analysis, s, undone.index, after.index) for s in sources):
        return None
    return MergedTwice(into, sources, first, again, undone)


def _moved(analysis: Analysis, tensor: int, start: int, end: int) -> bool:
    """Whether something writes to a parameter between two ops, a step or the program."""
    return any(True for _ in analysis.writes_to(analysis.capture.tensors[tensor].storage, tensor, start, end))
