"""Averages of the weights that follow another parameter than the one that they began as a copy of.

Whoever gives zip() two models of which one has a layer more pairs each layer with the one before or behind it; where
shapes agree, nothing raises. An average that begins as a copy of its own parameter follows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.memory.came_from import CameFrom
from autograd_inspector.analysis.memory.restored import copied_in
from autograd_inspector.analysis.modules.average_updates import AverageUpdate, average_updates
from autograd_inspector.analysis.modules.following import moved_by_steps
from autograd_inspector.model.op import Op
from autograd_inspector.model.tensor import TensorRecord


class OtherAverage(Struct, frozen=True):
    """``updated`` mixes ``followed`` into ``average``, which ``began`` as a copy of ``copied``; ``others`` fare alike."""

    average: int
    copied: int
    followed: int
    began: Op | None
    updated: Op
    others: int = 0


def other_averages(analysis: Analysis) -> Iterator[OtherAverage]:
    """The first one of each line that updates averages."""
    capture = analysis.capture
    moved = moved_by_steps(analysis)
    if not moved or capture.history.folded:
        return
    several = Counter(capture.tensors[tensor].storage for tensor in moved)
    # Of one piece of memory with several parameters, whose it was is not known.
    trained = {s: t for t in moved if several[s := capture.tensors[t].storage] == 1}
    beginnings, by_line = _Beginnings(analysis), dict[object, list[OtherAverage]]()
    for storage, updates in average_updates(analysis, moved).items():
        first, followed = updates[0], {update.parameter for update in updates}
        memory, began = beginnings.of(storage, first)
        copied = trained.get(memory, -1)
        again = analysis.timeline.steps.places(first.op.index, updates[-1].op.index)
        owners = {capture.owners.get(copied), *map(capture.owners.get, followed)}
        # A run that is resumed has its weights in another model, and the averages follow that one.
        if copied >= 0 and copied not in followed and len(followed) == len(owners) == 1 and again:
            found = OtherAverage(first.average, copied, first.parameter, began, first.op)
            by_line.setdefault(line_of(analysis, first.op.site), []).append(found)
    for alike in by_line.values():
        yield replace(alike[0], others=len(alike) - 1)


class _Beginnings:
    """Whose values an average had before it was first mixed."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._origins = CameFrom(analysis.capture)
        self._made: dict[int, TensorRecord] = {}
        """Memory -> what an op returned there first: a parameter is made of it by its class, which is no op."""
        for record in analysis.capture.tensors:
            if record.birth >= 0 and record.storage >= 0:
                self._made.setdefault(record.storage, record)

    def of(self, storage: int, first: AverageUpdate) -> tuple[int, Op | None]:
        """(the memory that it was copied from, the op that copied it); -1: of that nothing is known."""
        analysis, made = self._analysis, self._made.get(storage)
        line, began = line_of(analysis, first.op.site), None if made is None else analysis.flow.birth(made.id)
        start = self._origins.storage(first.average if made is None else made.id)
        for op, write in analysis.writes_to(storage, first.average, 0, first.op.index):
            if line_of(analysis, op.site) != line:  # `mul_(0.9).add_(p)` scales it before.
                source = copied_in(op, write)
                start, began = -1 if source is None else self._origins.storage(source), op
        return start, began
