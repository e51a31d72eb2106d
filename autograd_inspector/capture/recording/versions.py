"""The ledger: for each version counter, when it moved and to what."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping

from autograd_inspector.capture.recording.raw_records import OP_INPUTS, OP_OUTPUTS, OP_TRAITS, OP_VERSIONS, OP_WRITES
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.model.op import Trait

ALIAS = int(Trait.ALIAS)


class Ledger:
    """Version counters over time. A counter is named by its storage, or by ``-2 - tensor`` for a ``.data`` alias."""

    def __init__(self) -> None:
        self._aliases: dict[int, int] = {}
        self.first: dict[int, int | None] = {}
        """Counter -> the version at which it was first met."""
        self.moves: dict[int, tuple[list[int], list[int]]] = {}
        """Counter -> (ops that moved it, where to)."""
        self._seen = 0

    @property
    def has_aliases(self) -> bool:
        """Whether any tensor has a counter that is not its storage's."""
        return bool(self._aliases)

    def counter_of(self, tensor: int, storage: int) -> int:
        """The counter of a tensor: its storage's own, unless it comes from a ``.data``."""
        return self._aliases.get(tensor, storage)

    def update(self, recording: Records) -> None:
        """Take in the ops since the last call."""
        entries, aliases, first = recording.registry.entries, self._aliases, self.first
        end = len(recording.ops)
        for index, op in recording.ops.items(self._seen):
            if op[OP_TRAITS] & ALIAS:
                for output in op[OP_OUTPUTS]:
                    aliases[output] = -2 - output
            elif aliases:
                self._inherit(op[OP_INPUTS], op[OP_OUTPUTS], recording)
            for tensor, version in zip(op[OP_INPUTS], op[OP_VERSIONS], strict=False):
                storage = entries[tensor].storage
                first.setdefault(aliases.get(tensor, storage) if aliases else storage, version)
            for write in op[OP_WRITES]:
                if write.after != write.before:
                    times, versions = self.moves.setdefault(self.counter_of(write.tensor, write.storage), ([], []))
                    times += (index,)  # By +=, so that both stay equally long where an interrupt strikes.
                    versions += (write.after,)
            self._seen = index + 1
        self._seen = end

    def _inherit(self, inputs: tuple[int, ...], outputs: tuple[int, ...], recording: Records) -> None:
        entries = recording.registry.entries
        for source in inputs:
            counter = self._aliases.get(source)
            if counter is None:
                continue
            for output in outputs:
                if output not in inputs and entries[output].storage == entries[source].storage:
                    self._aliases[output] = counter

    def fold(self, cut: int, ops: Collection[int], tensors: Collection[int], storages: Collection[int]) -> None:
        """Forget the counters of other memory, and the moves before ``cut`` that neither it nor those ops can see."""
        self._aliases = {tensor: counter for tensor, counter in self._aliases.items() if tensor in tensors}
        counters = {*storages, *self._aliases.values()}
        self.moves = {counter: moves for counter, moves in self.moves.items() if counter in counters}
        self.first = {counter: version for counter, version in self.first.items() if counter in counters}
        asked = sorted(op for op in ops if op < cut)
        for counter, (times, versions) in self.moves.items():
            kept = [at for at in range(len(times)) if _seen(times, at, cut, asked)]
            if len(kept) < len(times):
                self.first[counter] = None  # What came before the oldest move that is left is not known any more.
                times[:], versions[:] = [times[at] for at in kept], [versions[at] for at in kept]

    def settle(self, tensors: Mapping[int, int]) -> None:
        """Number the tensors anew. All ops were taken in, and nobody asks what the counters were any more."""
        names = {counter: -2 - place for place, counter in enumerate(dict.fromkeys(self._aliases.values()))}
        self._aliases = {tensors[t]: names[c] for t, c in self._aliases.items() if t in tensors}
        self._seen = sys.maxsize

    def expected(self, counter: int, op: int, position: int) -> int | None:
        """The version right after ``op`` (or before the op at ``position``), None when it was never observed."""
        moves = self.moves.get(counter)
        if moves is not None:
            times, versions = moves
            at = (bisect_right(times, op) if op >= 0 else bisect_left(times, position)) - 1
            if at >= 0:
                return versions[at]
        return self.first.get(counter)

    def moved(self, counter: int, op: int) -> bool:
        """Whether that op moved the counter."""
        moves = self.moves.get(counter)
        if moves is None or op < 0:
            return False
        times, _ = moves
        at = bisect_left(times, op)
        return at < len(times) and times[at] == op


def _seen(times: list[int], at: int, cut: int, asked: list[int]) -> bool:
    """Whether a move is the last one before ``cut`` or before one of the ops that may ask, or comes later."""
    following = times[at + 1] if at + 1 < len(times) else cut + 1
    return following > cut or bisect_left(asked, following) > bisect_left(asked, times[at])
