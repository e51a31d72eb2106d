"""Gradients that were read, left unused until a later backward wrote over them, and used then beside the new ones.

A read of `.grad` that nothing came of before the tensor changed was made to keep it. Where such a tensor, or what is put
together of several, meets itself under two names, it was kept twice: as the old gradient and as the new one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.operands_told_apart import told_apart
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.EXPORT
_SAME = OpKind.COPIES | OpKind.RESHAPES | OpKind.ALIASES
"""What returns the very same numbers."""
_GATHERS = OpKind.CONCATENATES | OpKind.STACKS


class Overwritten(Struct, frozen=True):
    """A gradient that was kept, and that ``run`` changed in place: ``op`` then uses it as if it were the old one."""

    read: GradRead
    run: Backward
    op: Op


def met_themselves(
    analysis: Analysis,
    reads: Mapping[int, Iterable[GradRead]],
    changes: Mapping[int, Iterable[Backward]],
) -> Iterator[Overwritten]:
    """Gradients that were read for nothing, and that an op takes twice afterwards, as two gradients. Each once.

    ``reads``: those of each gradient; ``changes``: leaf -> the backwards that add to its gradient.
    """
    by_run: dict[int, dict[int, GradRead]] = {}
    for gradient, all_reads in reads.items():
        plain = [read for read in all_reads if not read.asks and read.clips < 0]
        for run in changes[plain[0].tensor] if plain else ():
            before = [read for read in plain if read.at < run.start]
            again = any(read.at >= run.end for read in plain)
            if before and again and not _used(analysis, gradient, before[-1].at, run.start):
                by_run.setdefault(run.index, {})[gradient] = _idle(analysis, gradient, before, run.start)
    met: set[int] = set()
    for index, kept in by_run.items():
        run = analysis.capture.backwards[index]
        following = analysis.timeline.next_run(run)
        end = len(analysis.capture.ops) if following is None else following.start
        op = _meeting(analysis, run.end, end, frozenset(kept))
        if op is not None:
            yield from (Overwritten(kept[gradient], run, op) for gradient in sorted(set(kept) - met))
            met |= set(kept)


def _idle(analysis: Analysis, gradient: int, reads: list[GradRead], end: int) -> GradRead:
    """The last read after which not even a write came before the next one: that of `p.grad.zero_()` clears, and keeps nothing."""
    readers = analysis.capture.readers.get(gradient, [])
    ends = [*(read.at for read in reads[1:]), end]
    for read, following in zip(reversed(reads), reversed(ends), strict=True):
        at = bisect_left(readers, read.at)
        if at == len(readers) or readers[at] >= following:
            return read
    return reads[-1]


def _used(analysis: Analysis, gradient: int, start: int, end: int) -> bool:
    """Whether an op computed with it."""
    ops = (analysis.capture.ops[index] for index in analysis.capture.readers.get(gradient, ()) if start <= index < end)
    return any(all(write.tensor != gradient for write in op.writes) for op in ops)


def _meeting(analysis: Analysis, start: int, end: int, kept: frozenset[int]) -> Op | None:
    """The first op that is given the same of them twice, and does not compute the square of one."""
    parts: dict[int, tuple[int, ...]] = {}
    """Tensor -> the gradients that lie in it one behind the other."""

    def of(tensor: int) -> tuple[int, ...]:
        return parts.get(tensor) or ((tensor,) if tensor in kept else (-1 - tensor,))

    for op in analysis.capture.ops[start:end]:
        if op.has(_ASIDE) or op.writes:
            continue
        given = [of(tensor) for tensor in op.inputs]
        met = {each for each in given if given.count(each) > 1 and not kept.isdisjoint(each)}
        if met and not is_a(op.name, OpKind.COMPARES) and (is_a(op.name, _GATHERS) or told_apart(analysis, op)):
            return op
        if op.inputs and (is_a(op.name, _GATHERS) or (len(op.inputs) == 1 and is_a(op.name, _SAME))):
            parts |= dict.fromkeys(op.outputs, tuple(part for each in given for part in each))
    return None
