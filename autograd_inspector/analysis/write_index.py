"""Which ops wrote to some memory, in program order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge

from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Write


class WriteIndex:
    """The writes of a capture by storage and by tensor, looked up by bisection."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def written(self, storage: int, tensor: int) -> bool:
        """Whether any op wrote to a storage, or to that tensor."""
        writes = self._writes
        return (storage >= 0 and ("storage", storage) in writes) or (tensor >= 0 and ("tensor", tensor) in writes)

    def writes_to(self, storage: int, tensor: int, start: int, end: int) -> Iterator[tuple[Op, Write]]:
        """(op, write) in program order of all writes to a storage, or to that tensor, by ops ``start`` to ``end``."""
        ops, writes = self._capture.ops, self._writes
        to_storage: Sequence[tuple[int, int]] = writes.get(("storage", storage), ()) if storage >= 0 else ()
        to_tensor: Sequence[tuple[int, int]] = writes.get(("tensor", tensor), ()) if tensor >= 0 else ()
        if not to_storage and not to_tensor:
            return  # Of most memory.
        lists = [
            written[bisect_left(written, (start, 0)) : bisect_left(written, (end, 0))]
            for written in (to_storage, to_tensor)
        ]
        last = None
        for position in lists[0] if lists[0] == lists[1] else merge(*lists):
            if position != last:
                yield ops[position[0]], ops[position[0]].writes[position[1]]
            last = position

    def writes_in(self, storage: int, start: int, end: int) -> Iterator[tuple[Op, Write]]:
        """(op, write) in program order of the writes to exactly that storage, by ops ``start`` to ``end``."""
        writes, within = self._within(storage, start, end)
        yield from (self._write(writes[at]) for at in within)

    def writes_back(self, storage: int, start: int, end: int) -> Iterator[tuple[Op, Write]]:
        """The same, the latest first."""
        writes, within = self._within(storage, start, end)
        yield from (self._write(writes[at]) for at in reversed(within))

    def _within(self, storage: int, start: int, end: int) -> tuple[list[tuple[int, int]], range]:
        writes = self._writes.get(("storage", storage), [])
        return writes, range(bisect_left(writes, (start, 0)), bisect_left(writes, (end, 0)))

    def _write(self, place: tuple[int, int]) -> tuple[Op, Write]:
        op = self._capture.ops[place[0]]
        return op, op.writes[place[1]]

    @cached_property
    def _writes(self) -> dict[tuple[str, int], list[tuple[int, int]]]:
        writes: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for op in writing(self._capture):
            for number, write in enumerate(op.writes):
                writes.setdefault(("storage", write.storage), []).append((op.index, number))
                writes.setdefault(("tensor", write.tensor), []).append((op.index, number))
        return writes
