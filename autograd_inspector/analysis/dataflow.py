"""Which op gave a tensor the value that another op read: data flow over the ops of a capture."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

SKIPPED = Trait.STEP | Trait.BACKWARD
"""Ops that data flow does not go through: a step links each parameter with everything that ever made its gradient."""

_MOST_PASTS = 100_000
"""So many are kept: a program of a million ops has too many."""


class _Memory:
    """What happened to one storage, as op indices in program order."""

    __slots__ = ("born", "by", "met", "written")

    def __init__(self) -> None:
        self.written: list[int] = []
        self.by: list[int] = []
        """For each write the tensor that it went through."""
        self.met: list[int] = []
        """What wrote no value: a tensor was born in that memory, or lost its history (``detach_()``)."""
        self.born = -1
        """The first birth."""

    @classmethod
    def only_born(cls, op: int) -> _Memory:
        """Of a storage in which one tensor was born, and nothing else happened."""
        memory = cls()
        if op >= 0:
            memory.met, memory.born = [op], op
        return memory


class _Memories:
    """What happened to each storage. Most of a long program were met once, at a birth: that is one integer of each.

    Storages are numbered as they are met, so there are about as many as tensors; one of a higher number is told in full.
    """

    def __init__(self, tensors: int) -> None:
        self._born = array("q", [-1]) * tensors
        self._others: dict[int, _Memory] = {}

    def meet(self, storage: int, op: int, *, born: bool) -> None:
        """Something that wrote no value: a birth, or a tensor lost its history."""
        if born and storage < len(self._born) and self._born[storage] < 0 and storage not in self._others:
            self._born[storage] = op
            return
        memory = self._own(storage)
        memory.met.append(op)
        if memory.born < 0 and born:
            memory.born = op

    def write(self, storage: int, op: int, tensor: int) -> None:
        """That op wrote to it through that tensor."""
        memory = self._own(storage)
        memory.written.append(op)
        memory.by.append(tensor)

    def _own(self, storage: int) -> _Memory:
        memory = self._others.get(storage)
        if memory is None:
            memory = self._others[storage] = _Memory.only_born(self._birth(storage))
        return memory

    def written(self, storage: int) -> _Memory:
        """The same as ``of``, for who asks of writes alone."""
        return self._others.get(storage, _UNTOUCHED)

    def of(self, storage: int) -> _Memory:
        """All that happened to a storage; -1 has none."""
        memory = self._others.get(storage)
        born = self._birth(storage) if memory is None else -1
        return _Memory.only_born(born) if born >= 0 else memory or _UNTOUCHED

    def _birth(self, storage: int) -> int:
        return self._born[storage] if 0 <= storage < len(self._born) else -1


_UNTOUCHED = _Memory()
"""Of what nothing happened to."""


class Past(NamedTuple):
    """The writes to a tensor's memory from the one at place ``at`` back to op ``end``, and what the tensor began with.

    Two reads of a tensor share all of it but what was written in between.
    """

    tensor: int
    at: int
    end: int
    begun: tuple[int, ...]


class DataFlow:
    """Producers of values. Memory is what counts: a tensor's value comes from whoever wrote its storage last."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self._pasts: dict[tuple[int, int], Past] = {}
        """(tensor, op) -> what a read of it by that op depends on: each rule asks for much the same."""

    @cached_property
    def _memory(self) -> _Memories:
        """What happened to each storage. Births are many (each alias is one), writes few: they are apart."""
        tensors = self.capture.tensors
        memories = _Memories(len(tensors))
        for op in self.capture.ops:
            if op.has(SKIPPED):
                continue
            written = dict.fromkeys((w.storage, w.tensor) for w in op.writes)
            for storage, tensor in written:
                if storage >= 0:
                    memories.write(storage, op.index, tensor)
            # `detach_()` hands back its own input, changed, and writes no memory.
            changed = frozenset(op.inputs) if op.has(Trait.CUT) else ()
            for tensor in op.outputs:
                storage, cut = tensors[tensor].storage, tensor in changed
                if (cut or tensors[tensor].birth == op.index) and storage >= 0 and (storage, tensor) not in written:
                    memories.meet(storage, op.index, born=not cut)
        return memories

    @cached_property
    def _cuts(self) -> dict[int, list[int]]:
        """Tensor -> the ops that took its history away in place."""
        cuts: dict[int, list[int]] = {}
        for op in having(self.capture, Trait.CUT):
            if not op.has(SKIPPED):
                for tensor in dict.fromkeys(t for t in op.outputs if t in op.inputs):
                    cuts.setdefault(tensor, []).append(op.index)
        return cuts

    @cached_property
    def exports(self) -> dict[int, list[int]]:
        """Op -> the ops that had taken its plain numbers out of torch."""
        exports: dict[int, list[int]] = {}
        for back in self.capture.scalar_reentries:
            exports.setdefault(back.op, []).append(back.export)
        return exports

    def producers(self, tensor: int, before: int) -> list[int]:
        """The ops whose results a read of ``tensor`` by op ``before`` depends on: writes, the latest first, then its birth."""
        return self._producers(tensor, before, set())

    def _producers(self, tensor: int, before: int, walked: set[tuple[int, int]]) -> list[int]:
        """The same without those that an earlier walk from the tensor found: ``walked`` is where it has been."""
        birth = self.capture.tensors[tensor].birth
        if 0 <= birth < before and self._once(tensor):
            return [] if self.capture.ops[birth].has(SKIPPED) else [birth]
        past: Past | None = self.past(tensor, before)
        if past is not None and past.at < 0:  # Nothing had written to it, which most tensors are never written to.
            return list(dict.fromkeys(past.begun))
        producers: dict[int, None] = {}
        while past is not None and (past.at < 0 or (tensor, past.at) not in walked):
            walked.add((tensor, past.at))
            ops, past = self.further(past)
            producers.update(dict.fromkeys(ops))
        return list(producers)

    def _once(self, tensor: int) -> bool:
        """Whether nothing gave that tensor another value than it was born with, or took its history away."""
        return tensor not in self._cuts and not self._memory.written(self.capture.tensors[tensor].storage).written

    def _beginning(self, tensor: int, before: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
        """(what made the tensor, the op up to which no write is of account for it, what made the memory it wraps)."""
        record = self.capture.tensors[tensor]
        born = (record.birth,) if 0 <= record.birth < before else ()
        # An op that data flow does not go through is no beginning either.
        since = record.birth if born and not self.capture.ops[record.birth].has(SKIPPED) else -1
        cut = _last(self._cuts.get(tensor, ()), before, since)
        met = () if record.birth >= 0 else self._memory.of(record.storage).met
        wrapped = _last(met, min(before, record.first_use), cut)
        if wrapped >= 0:
            return born, max(since, cut, wrapped - 1), (wrapped,)
        return ((cut,) if cut >= 0 else born), max(since, cut), ()

    def past(self, tensor: int, before: int) -> Past:
        """What a read of ``tensor`` by op ``before`` depends on, to be gone back through with ``further``."""
        past = self._pasts.get((tensor, before))
        if past is None:
            past = self._past(tensor, before)
            if len(self._pasts) < _MOST_PASTS:
                self._pasts[tensor, before] = past
        return past

    def _past(self, tensor: int, before: int) -> Past:
        memory = self._memory.written(self.capture.tensors[tensor].storage)
        begun, end, wrapped = self._beginning(tensor, before)
        at = bisect_left(memory.written, before) - 1
        return Past(tensor, at, end, tuple(op for op in (*begun, *wrapped) if not self.capture.ops[op].has(SKIPPED)))

    def further(self, past: Past) -> tuple[tuple[int, ...], Past | None]:
        """The producers that come next, and what comes before them."""
        record = self.capture.tensors[past.tensor]
        memory = self._memory.written(record.storage)
        if past.at < 0 or memory.written[past.at] <= past.end:
            return past.begun, None
        op, touched = memory.written[past.at], memory.by[past.at]
        if touched == past.tensor and touched in self.capture.ops[op].inputs:
            return (op,), None
        seen = (op,) if self.capture.tensors[touched].overlaps(record) else ()
        return seen, Past(past.tensor, past.at - 1, past.end, past.begun)

    def birth(self, tensor: int) -> Op | None:
        """The op that made the tensor, or the memory that it wraps (``nn.Parameter(t)``); None: it existed before."""
        record = self.capture.tensors[tensor]
        if record.birth >= 0:
            return self.capture.ops[record.birth]
        limit = record.first_use if record.first_use >= 0 else len(self.capture.ops)
        born = self._memory.of(record.storage).born
        return self.capture.ops[born] if 0 <= born < limit else None

    def upstream(
        self,
        starts: Iterable[tuple[int, int]],
        through: Callable[[Op, int], bool] | None = None,
        ends: Callable[[int], bool] | None = None,
    ) -> Iterator[tuple[Op, int]]:
        """(op, the tensor it was reached through) upstream of (tensor, op index) pairs; ``through`` says go on.

        ``ends``: what gave such a tensor its value is not asked for where an op reads it.
        """
        seen: set[tuple[int, int]] = set()
        walked: set[tuple[int, int]] = set()
        entered: set[int] = set()
        todo = list(starts)
        while todo:
            tensor, before = todo.pop()
            for index in self._producers(tensor, before, walked):
                if (index, tensor) in seen:
                    continue
                seen.add((index, tensor))
                op = self.capture.ops[index]
                yield op, tensor
                # One that made a thousand tensors, and is reached through each of them, read what it read once.
                if (through is None or through(op, tensor)) and index not in entered:
                    entered.add(index)
                    todo += [(read, index) for read in op.inputs if ends is None or not ends(read)]
                    for export in self.exports.get(index, ()):
                        if (export, tensor) not in seen:
                            seen.add((export, tensor))
                            left = self.capture.ops[export]
                            yield left, left.inputs[0]
                            if through is None or through(left, left.inputs[0]):
                                todo += [(read, export) for read in left.inputs if ends is None or not ends(read)]


def _last(ops: Sequence[int], before: int, after: int) -> int:
    """The last of some ops between two others, -1 where there is none."""
    at = bisect_left(ops, before) - 1
    return ops[at] if at >= 0 and ops[at] > after else -1
