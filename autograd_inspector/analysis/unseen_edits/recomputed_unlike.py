"""Recomputations of a checkpoint that ran other calls than the forward, which torch did not notice."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import recomputations
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait

_LATEST = 8
"""Of more forwards of the same inputs, as of many micro-batches, the recomputation is that of a late one."""


class Pair(NamedTuple):
    """An op of the forward, and the one in its place when it was recomputed."""

    before: Op
    after: Op


def recomputed_with_other_calls(analysis: Analysis) -> Iterator[tuple[Backward, list[Op], Pair]]:
    """(run, the ops of the recomputation, where the two part), the first time for each line."""
    told: set[tuple[str, int] | None] = set()
    for run in analysis.capture.backwards:
        for again in () if run.error else recomputations(analysis, run):
            pair = _parting(analysis, run, again)
            line = line_of(analysis, pair.after.site) if pair is not None else None
            if pair is not None and line not in told:
                told.add(line)
                yield run, again, pair


def _parting(analysis: Analysis, run: Backward, again: list[Op]) -> Pair | None:
    """Where it parts from the forwards that it may repeat; None where it is like one of them, or none is known."""
    inner = _nested(analysis, run, again)
    if inner is None:
        found = [_onwards(analysis, first, again) for first in _forwards(analysis, again)]
    else:
        upwards = _Upwards(analysis, inner, again)
        found = [upwards.parting(apply) for apply in upwards.applied()]
    pairs = [pair for pair in found if pair is not None]
    return max(pairs, key=lambda pair: pair.after.index) if pairs and len(pairs) == len(found) else None


def _nested(analysis: Analysis, run: Backward, again: list[Op]) -> Backward | None:
    """The backward() that a reentrant checkpoint runs on what it has recomputed."""
    made = {tensor for op in again for tensor in op.outputs}
    inner = (other for other in analysis.capture.backwards if other.nested_in == run.index)
    return next((other for other in inner if other.roots and made.issuperset(other.roots)), None)


class _Upwards:
    """The results of a reentrant checkpoint and of its recomputation, compared from the results to the inputs."""

    def __init__(self, analysis: Analysis, inner: Backward, again: list[Op]) -> None:
        self._ops, self._again, self._inner = analysis.capture.ops, again, inner
        self._shape = [(record.shape, record.dtype) for record in analysis.capture.tensors]
        self._trains = {call.id: call.training for call in analysis.capture.calls}
        self._last = {tensor: op for op in again for tensor in op.outputs}
        """Recomputed tensor -> what made it."""
        self._copied = dict(self._copies())

    def _copies(self) -> Iterator[tuple[int, int]]:
        """(the recomputation's own copy, the input of the checkpoint): it takes them right before it begins."""
        index = self._again[0].index - 1
        while index >= 0 and self._ops[index].has(Trait.BACKWARD) and self._ops[index].has(Trait.CUT):
            yield from zip(self._ops[index].outputs, self._ops[index].inputs, strict=False)
            index -= 1

    def applied(self) -> Iterator[Op]:
        """The custom Functions outside of a backward that were given the same inputs, the latest first."""
        given = set(self._copied.values())
        for op in reversed(self._ops[: self._again[0].index] if given else ()):
            if op.has(Trait.FUNCTION) and not op.has(Trait.BACKWARD) and given <= set(op.inputs):
                yield op

    def parting(self, apply: Op) -> Pair | None:
        """The first that is not alike, from the inputs; None: all that the results are computed with is alike."""
        made = self._made_within(apply)
        found: list[Pair] = []
        todo = list(zip(apply.outputs, self._inner.roots, strict=False))
        seen: set[tuple[int, int]] = set()
        while todo:
            one, other = pair = todo.pop()
            if pair in seen or one == other or self._copied.get(other) == one:
                continue
            seen.add(pair)
            before, after = made.get(one), self._last.get(other)
            if before is None or after is None or not self._trains.get(before.call, True):
                continue  # One of them was there already: what it is, is not asked here.
            if self._unlike(before, after, one, other):
                found.append(Pair(before, after))
            else:
                todo += zip(before.inputs, after.inputs, strict=False)
        return min(found, key=lambda pair: pair.after.index, default=None)

    def _made_within(self, apply: Op) -> dict[int, Op]:
        """What the forward of a custom Function made: its ops stand right in front of its own."""
        made: dict[int, Op] = {}
        index = apply.index - 1
        while index >= 0 and self._ops[index].has(Trait.INNER):
            for tensor in self._ops[index].outputs:
                made.setdefault(tensor, self._ops[index])
            index -= 1
        return made

    def _unlike(self, before: Op, after: Op, one: int, other: int) -> bool:
        return (
            before.name != after.name
            or len(before.inputs) != len(after.inputs)
            or self._shape[one] != self._shape[other]
        )


def _forwards(analysis: Analysis, again: list[Op]) -> Iterator[Op]:
    """The latest ops outside of a backward that its first one may repeat: they read the very same tensors."""
    first, ops = again[0], analysis.capture.ops
    readers = analysis.capture.readers.get(first.inputs[0], []) if first.inputs else []
    before = (ops[index] for index in reversed(readers[: bisect_left(readers, first.index)]))
    alike = (op for op in before if op.name == first.name and op.inputs == first.inputs and not op.has(Trait.BACKWARD))
    return islice(alike, _LATEST)


def _onwards(analysis: Analysis, first: Op, again: list[Op]) -> Pair | None:
    """The first of what autograd recorded that is not alike: a recomputation ends as soon as it has what is saved."""
    recomputed = [op for op in again if op.recorded or op.error]  # Within the last call checkpointing ends it.
    ops, forward, index = analysis.capture.ops, list[Op](), first.index
    while len(forward) < len(recomputed) and index < recomputed[0].index:
        if ops[index].recorded and not ops[index].has(Trait.BACKWARD):
            forward.append(ops[index])
        index += 1
    pairs = zip(forward, recomputed, strict=False)
    return next((Pair(*pair) for pair in pairs if pair[0].name != pair[1].name), None)
