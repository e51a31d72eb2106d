"""Which op gave a tensor the value that another op read: data flow over the ops of a capture."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

SKIPPED = Trait.STEP | Trait.BACKWARD
"""Ops that data flow does not go through: a step links each parameter with everything that ever made its gradient."""


class DataFlow:
    """Producers of values. Memory is what counts: a tensor's value comes from whoever wrote its storage last."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    @cached_property
    def _storage_events(self) -> dict[int, tuple[list[int], list[int]]]:
        """Storage -> (op indices, tensors) of births and writes in it, in program order."""
        tensors = self.capture.tensors
        found: dict[int, tuple[list[int], list[int]]] = {}
        for op in self.capture.ops:
            if op.has(SKIPPED):
                continue
            touched = {(tensors[t].storage, t): None for t in op.outputs if tensors[t].birth == op.index}
            touched |= {(w.storage, w.tensor): None for w in op.writes}
            if op.has(Trait.CUT):  # `detach_()` hands back its own input, changed, and writes no memory.
                touched |= {(tensors[t].storage, t): None for t in op.outputs if t in op.inputs}
            for storage, tensor in touched:
                if storage >= 0:
                    ops, who = found.setdefault(storage, ([], []))
                    ops.append(op.index)
                    who.append(tensor)
        return found

    @cached_property
    def _exports(self) -> dict[int, list[int]]:
        """Op -> the ops that had taken its plain numbers out of torch."""
        found: dict[int, list[int]] = {}
        for back in self.capture.returns:
            found.setdefault(back.op, []).append(back.export)
        return found

    def events(self, tensor: int, before: int) -> Iterator[tuple[int, int]]:
        """(op, tensor it touched) of all births and writes in a tensor's storage before an op, latest first."""
        record = self.capture.tensors[tensor]
        ops, who = self._storage_events.get(record.storage, ([], []))
        for at in range(bisect_left(ops, before) - 1, -1, -1):
            yield ops[at], who[at]

    def producers(self, tensor: int, before: int) -> list[int]:
        """The ops whose results a read of ``tensor`` by op ``before`` depends on."""
        record = self.capture.tensors[tensor]
        born = 0 <= record.birth < before
        found = [record.birth] if born else []
        for op, touched in self.events(tensor, before):
            if op == record.birth:
                break
            if touched == tensor and self._cut_in_place(op, tensor):
                return [op, *found[born:]]
            wrote = any(w.tensor == touched for w in self.capture.ops[op].writes)
            if wrote and touched == tensor and tensor in self.capture.ops[op].inputs:
                found = [*found[born:], op]  # It read what it wrote: all that came before comes through it.
                break
            if wrote and self.capture.tensors[touched].overlaps(record):
                found.append(op)
            elif not wrote and record.birth < 0 and op < record.first_use:
                found.append(op)
                break
        return [op for op in dict.fromkeys(found) if not self.capture.ops[op].has(SKIPPED)]

    def _cut_in_place(self, op: int, tensor: int) -> bool:
        record = self.capture.ops[op]
        return record.has(Trait.CUT) and tensor in record.inputs and tensor in record.outputs

    def birth(self, tensor: int) -> Op | None:
        """The op that made the tensor, or the memory that it wraps (``nn.Parameter(t)``); None: it existed before."""
        record = self.capture.tensors[tensor]
        if record.birth >= 0:
            return self.capture.ops[record.birth]
        limit = record.first_use if record.first_use >= 0 else len(self.capture.ops)
        first = None
        for op, touched in self.events(tensor, limit):
            if any(w.tensor == touched for w in self.capture.ops[op].writes) or self._cut_in_place(op, touched):
                continue
            first = op
        return None if first is None else self.capture.ops[first]

    def upstream(
        self, starts: Iterable[tuple[int, int]], through: Callable[[Op, int], bool] | None = None
    ) -> Iterator[tuple[Op, int]]:
        """(op, the tensor it was reached through) upstream of (tensor, op index) pairs; ``through`` says go on."""
        seen: set[tuple[int, int]] = set()
        todo = list(starts)
        while todo:
            tensor, before = todo.pop()
            for index in self.producers(tensor, before):
                if (index, tensor) in seen:
                    continue
                seen.add((index, tensor))
                op = self.capture.ops[index]
                yield op, tensor
                if through is None or through(op, tensor):
                    todo += [(read, index) for read in op.inputs]
                    for export in self._exports.get(index, ()):
                        if (export, tensor) not in seen:
                            seen.add((export, tensor))
                            left = self.capture.ops[export]
                            yield left, left.inputs[0]
                            if through is None or through(left, left.inputs[0]):
                                todo += [(read, export) for read in left.inputs]
