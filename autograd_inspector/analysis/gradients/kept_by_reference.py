"""Gradients that were read, left unused until a later backward wrote over them, and used then beside the new ones.

A read of `.grad` that nothing came of before the tensor changed was made to keep it. Where such a tensor, or what is put
together of several, meets itself under two names, it was kept twice: as the old gradient and as the new one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

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
        idle = _Idle(analysis.capture.readers.get(gradient, ()), plain)
        for run in changes[plain[0].tensor] if plain else ():
            before = bisect_left(plain, run.start, key=_when)
            again = plain[-1].at >= run.end
            if before and again and not _used(analysis, gradient, plain[before - 1].at, run.start):
                by_run.setdefault(run.index, {})[gradient] = idle.last(before, run.start)
    met: set[int] = set()
    for index, kept in by_run.items():
        run = analysis.capture.backwards[index]
        following = analysis.timeline.next_run(run)
        end = len(analysis.capture.ops) if following is None else following.start
        op = _meeting(analysis, run.end, end, frozenset(kept))
        if op is not None:
            yield from (Overwritten(kept[gradient], run, op) for gradient in sorted(set(kept) - met))
            met |= set(kept)


class _Idle:
    """Of the reads of a gradient, in program order, those that nothing was done after, until the next one."""

    def __init__(self, readers: Sequence[int], reads: Sequence[GradRead]) -> None:
        self._readers, self._reads = readers, reads
        self._last: list[int] = []
        """For each read the place of the last such read, up to it; -1: there is none."""
        for place, (read, following) in enumerate(pairwise(reads)):
            before = self._last[-1] if self._last else -1
            self._last.append(place if self._is_idle(read, following.at) else before)

    def last(self, count: int, end: int) -> GradRead:
        """The last of the first reads after which not even a write came before the next one, or before ``end``.

        A write that comes is that of `p.grad.zero_()`, which clears, and keeps nothing.
        """
        last = self._reads[count - 1]
        if count == 1 or self._is_idle(last, end):
            return last
        place = self._last[count - 2]
        return self._reads[place] if place >= 0 else last

    def _is_idle(self, read: GradRead, following: int) -> bool:
        at = bisect_left(self._readers, read.at)
        return at == len(self._readers) or self._readers[at] >= following


def _when(read: GradRead) -> int:
    return read.at


def _used(analysis: Analysis, gradient: int, start: int, end: int) -> bool:
    """Whether an op computed with it."""
    capture, readers = analysis.capture, analysis.capture.readers.get(gradient, ())
    ops = (capture.ops[readers[at]] for at in range(bisect_left(readers, start), bisect_left(readers, end)))
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
