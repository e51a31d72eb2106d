"""What the records of ops tell of the autograd graph: which op, or which leaf, the nodes that an op made lead to.

A Node is told best by itself. Where it is too deep to be met, the op that made it is known all the same: it ran with an
input that required grad, and its result requires grad.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.capture.recording.raw_records import (
    FACT_BIRTH,
    FACT_LEAF,
    OP_FIRST,
    OP_INPUTS,
    OP_LAST,
    OP_NAME,
    OP_OUTPUTS,
    OP_TRAITS,
    OP_WRITES,
    RawOp,
)
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.capture.tensors.attributes import is_leaf
from autograd_inspector.model.op import Trait

UNKNOWN = -1
_STEP = int(Trait.STEP)
_CUT, _ALIAS, _FUNCTION = int(Trait.CUT), int(Trait.ALIAS), int(Trait.FUNCTION)
APART = frozenset({"detach", "data"})
"""Ops whose result shares memory with what they were given, and no history."""


class Lineage:
    """Taken in op by op, once each, and only once a graph is too deep to be walked to its end.

    Views share their history with what they are a part of: whoever writes through one gives all of them a new one.
    """

    def __init__(self) -> None:
        self._below: dict[int, int | tuple[int, ...]] = {}
        """Op -> what its nodes lead to. One origin, as most ops have, is there without a tuple around it."""
        self._origin: dict[int, int] = {}
        """Tensor -> the op that gave it its history."""
        self._whole: dict[int, int] = {}
        """View -> what stands for the history that it shares: the tensor that it is a part of, or a name of its own."""
        self._written: dict[int, int] = {}
        """What stands for a shared history -> the op that last wrote into it."""
        self._requires: dict[int, list[tuple[int, bool]]] = {}
        """Leaf -> when its requires_grad was set, and to what."""
        self._detached: set[int] = set()
        self._written_later: set[int] = set()
        self._seen = 0
        self._whole_tape = True
        """No op had been folded away before it was taken in."""

    def below(self, op: int) -> tuple[int, ...]:
        """What the nodes of an op lead to, one entry for each input that had a history.

        That is the op that gave it that history, ``-2 - leaf``, or UNKNOWN.
        """
        below = self._below.get(op, UNKNOWN)
        return (below,) if isinstance(below, int) else below

    def update(self, recording: Records) -> None:
        """Take in the ops since the last call."""
        if self._seen == len(recording.ops):
            return
        self._requires.clear()
        for change in recording.requires_grad_changes:
            self._requires.setdefault(change.tensor, []).append((change.at, change.requires_grad))
        self._whole_tape = self._whole_tape and (self._seen > 0 or not recording.ops.folded)
        for index, op in recording.ops.items(self._seen):
            self._share(recording, index, op)
        self._foresee(recording)
        for index, op in recording.ops.items(self._seen):
            if op[OP_TRAITS] & _CUT:
                self._cut(op)
            elif _recorded(op):
                self._take(recording, index, op)
        self._seen = len(recording.ops)

    def _foresee(self, recording: Records) -> None:
        """What becomes of tensors within a stretch: whether they require grad is known as of its end alone."""
        ops, seen = recording.ops, self._seen
        cuts = (op for _, op in ops.items(seen) if op[OP_TRAITS] & _CUT)
        self._detached = {tensor for op in cuts for tensor in op[OP_OUTPUTS] if tensor in op[OP_INPUTS]}
        writing = (op for _, op in ops.items(seen) if op[OP_WRITES] and _recorded(op))
        written = {tensor for op in writing for tensor in self._rewritten(op)}
        self._written_later = written | {self._root(tensor) for tensor in written}

    def _share(self, recording: Records, index: int, op: RawOp) -> None:
        entries, facts = recording.registry.entries, recording.registry.facts
        for output in op[OP_OUTPUTS]:
            entry, fact = entries.get(output), facts.get(output)
            if entry is None or fact is None or fact[FACT_BIRTH] != index or entry.storage < 0:
                continue
            for source in op[OP_INPUTS]:
                source_entry = entries.get(source)
                if source_entry is not None and source_entry.storage == entry.storage and source != output:
                    apart = op[OP_TRAITS] & (_CUT | _ALIAS) or op[OP_NAME] in APART
                    self._whole[output] = -2 - output if apart else self._whole.get(source, source)
                    break

    def _cut(self, op: RawOp) -> None:
        """``detach_()``: the same tensor, without the history that it had."""
        for tensor in op[OP_OUTPUTS]:
            if tensor in op[OP_INPUTS]:
                self._origin.pop(tensor, None)
                self._whole[tensor] = -2 - tensor
                self._written.pop(-2 - tensor, None)

    def _take(self, recording: Records, index: int, op: RawOp) -> None:
        rewritten = self._rewritten(op) if op[OP_WRITES] else ()
        # What is written through a view continues the history of the whole.
        read = [self._continued(tensor) if tensor in rewritten else tensor for tensor in op[OP_INPUTS]]
        below = [origin for tensor in read if (origin := self._behind(recording, tensor, index)) is not None]
        if not below and op[OP_LAST] == op[OP_FIRST]:
            return
        self._below[index] = below[0] if len(below) == 1 else tuple(below)
        entries = recording.registry.entries
        function = op[OP_TRAITS] & _FUNCTION
        for output in op[OP_OUTPUTS]:
            entry = entries.get(output)
            if entry is not None and (entry.requires_grad or function or output in self._detached):
                self._origin[output] = index
        for tensor in rewritten:
            self._origin[tensor] = self._written[self._root(tensor)] = index

    def _rewritten(self, op: RawOp) -> list[int]:
        """The tensors that an op modified, and so gave a new history.

        An operand that shares memory with one of them (`w.detach().add_(w)`) keeps its own.
        """
        moved = [write.tensor for write in op[OP_WRITES] if write.before != write.after]
        targets = {self._root(tensor) for tensor in moved if tensor in op[OP_OUTPUTS] or tensor == op[OP_INPUTS][0]}
        return [tensor for tensor in moved if not targets or self._root(tensor) in targets]

    def _root(self, tensor: int) -> int:
        return self._whole.get(tensor, tensor)

    def _continued(self, tensor: int) -> int:
        whole = self._root(tensor)
        return whole if whole >= 0 else tensor

    def _behind(self, recording: Records, tensor: int, now: int) -> int | None:
        """What gave a tensor the history that it has when that op reads it; None: it has none."""
        origin = max(self._origin.get(tensor, UNKNOWN), self._written.get(self._root(tensor), UNKNOWN))
        if origin != UNKNOWN:
            return origin
        if tensor not in self._requires and (tensor in self._whole or self._root(tensor) in self._written_later):
            return None  # A view that was taken under no_grad, or what gets a history only later.
        entry, fact = recording.registry.entries.get(tensor), recording.registry.facts.get(tensor)
        if entry is None or fact is None:
            return UNKNOWN
        if not self._required(tensor, now, later=entry.requires_grad):
            return None
        # Its op made no node for it.
        unrecorded = fact[FACT_BIRTH] >= 0 and (self._whole_tape or fact[FACT_BIRTH] in recording.ops)
        if fact[FACT_LEAF] or unrecorded:
            return -2 - tensor
        live = entry()
        return -2 - tensor if live is not None and is_leaf(live) else UNKNOWN

    def _required(self, tensor: int, now: int, *, later: bool) -> bool:
        """Whether a leaf required grad when that op ran."""
        for at, wanted in reversed(self._requires.get(tensor, ())):
            if at <= now:
                return wanted
            later = not wanted
        return later

    def origin(self, recording: Records, tensor: int, now: int) -> int | None:
        """The op that had given a tensor its history by then, or ``-2 - leaf``; None: nothing tells."""
        origin = self._behind(recording, tensor, now)
        if origin is not None and origin >= now:  # Modified since: what made it tells.
            fact = recording.registry.facts.get(tensor)
            origin = None if fact is None or fact[FACT_BIRTH] < 0 else fact[FACT_BIRTH]
        return None if origin == UNKNOWN else origin

    def leaves(self) -> Iterator[int]:
        """All leaves that some op read."""
        return (-2 - number for number in dict.fromkeys(f for op in self._below for f in self.below(op) if f < UNKNOWN))

    def fold(self, cut: int, ops: Collection[int], tensors: Collection[int]) -> None:
        """Forget the ops before ``cut`` but those, and other tensors."""
        self._below = {op: below for op, below in self._below.items() if op >= cut or op in ops}
        self._origin = {tensor: op for tensor, op in self._origin.items() if tensor in tensors}
        self._whole = {view: whole for view, whole in self._whole.items() if view in tensors}
        shared = {*tensors, *self._whole.values()}
        self._written = {whole: op for whole, op in self._written.items() if whole in shared}


def _recorded(op: RawOp) -> bool:
    """Whether autograd recorded it. Another thread may have numbered the nodes: a hook's, or those of autograd.grad.

    An optimizer's step has no numbers either, and gives the parameters that it writes no history.
    """
    numbered = op[OP_LAST] > op[OP_FIRST]
    unnumbered = (op[OP_FIRST] < 0 and not op[OP_TRAITS] & _STEP) or op[OP_NAME] == "grad"
    return not op[OP_TRAITS] & _CUT and (numbered or unnumbered)
