"""The ledger: for each version counter, when it moved and to what."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from autograd_inspector.model.op import Trait

if TYPE_CHECKING:
    from autograd_inspector.capture.tape import Tape

ALIAS = int(Trait.ALIAS)


class Ledger:
    """Version counters over time. A counter is named by its storage, or by ``-2 - tensor`` for a ``.data`` alias."""

    def __init__(self) -> None:
        self._aliases: dict[int, int] = {}
        self._first: dict[int, int] = {}
        self._moves: dict[int, tuple[list[int], list[int]]] = {}
        self._seen = 0

    def counter_of(self, tensor: int, storage: int) -> int:
        """The counter of a tensor: its storage's own, unless it comes from a ``.data``."""
        return self._aliases.get(tensor, storage)

    def update(self, tape: Tape) -> None:
        """Take in the ops since the last call."""
        entries = tape.registry.entries
        for index in range(self._seen, len(tape.ops)):
            op = tape.ops[index]
            if op[8] & ALIAS:
                for output in op[3]:
                    self._aliases[output] = -2 - output
            elif self._aliases:
                self._inherit(op[1], op[3], tape)
            for tensor, version in zip(op[1], op[2], strict=False):
                self._first.setdefault(self.counter_of(tensor, entries[tensor].storage), version)
            for write in op[4]:
                if write.after != write.before:
                    times, versions = self._moves.setdefault(self.counter_of(write.tensor, write.storage), ([], []))
                    times.append(index)
                    versions.append(write.after)
        self._seen = len(tape.ops)

    def _inherit(self, inputs: tuple[int, ...], outputs: tuple[int, ...], tape: Tape) -> None:
        entries = tape.registry.entries
        for source in inputs:
            counter = self._aliases.get(source)
            if counter is None:
                continue
            for output in outputs:
                if output not in inputs and entries[output].storage == entries[source].storage:
                    self._aliases[output] = counter

    def expected(self, counter: int, op: int, position: int) -> int | None:
        """The version right after ``op`` (or before the op at ``position``), None when it was never observed."""
        moves = self._moves.get(counter)
        if moves is not None:
            times, versions = moves
            at = (bisect_right(times, op) if op >= 0 else bisect_left(times, position)) - 1
            if at >= 0:
                return versions[at]
        return self._first.get(counter)

    def moved(self, counter: int, op: int) -> bool:
        """Whether that op moved the counter."""
        times, _ = self._moves.get(counter, ([], []))
        at = bisect_left(times, op)
        return op >= 0 and at < len(times) and times[at] == op
