"""Buffers that a wrapper makes those of rank 0 before each forward: what this rank has put into them is lost.

Of a running mean that is meant: that of rank 0 stands for all. It is not where a backward still needs this rank's values,
and where the buffer is a queue of samples, of which those of one rank alone are ever used.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.running_statistics import writes_entries
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import WrapperCalled


class NeededStill(Struct, frozen=True):
    """``buffer`` was saved by ``saver`` with the value that ``updated`` gave it on this rank; ``call`` overwrote that.

    ``run`` computes a gradient with what rank 0 had.
    """

    buffer: int
    updated: Op
    saver: Op
    call: WrapperCalled
    run: Backward


class LostEntries(Struct, frozen=True):
    """``written`` put what this rank has computed into a part of ``buffer``, and ``call`` replaced it before ``read``."""

    buffer: int
    written: Op
    read: Op
    call: WrapperCalled


def needed_still(analysis: Analysis) -> Iterator[NeededStill]:
    """One for each line that saves such a buffer, on ranks other than the first."""
    told: set[int] = set()
    calls = _calls(analysis)
    for run in analysis.capture.completed_runs if calls else ():
        for node in analysis.nodes_of(run):
            if node.op >= 0 and analysis.capture.ops[node.op].site not in told:
                found = _overwritten(analysis, run, node, calls)
                if found is not None:
                    told.add(found.saver.site)
                    yield found


def _calls(analysis: Analysis) -> list[WrapperCalled]:
    capture = analysis.capture
    return [call for call in capture.events_of(WrapperCalled) if call.tensors] if capture.rank > 0 else []


def _overwritten(analysis: Analysis, run: Backward, node: Node, calls: list[WrapperCalled]) -> NeededStill | None:
    tensors, saver = analysis.capture.tensors, analysis.capture.ops[node.op]
    kept = {saved.storage: saved.tensor for saved in node.saved if saved.storage >= 0 and not saved.unused}
    for call in calls if kept else ():
        if not saver.index < call.at <= run.start:
            continue
        for buffer in call.tensors:
            storage = tensors[buffer].storage
            updated = _updated(analysis, buffer, saver, calls) if storage in kept else None
            if updated is not None:
                return NeededStill(buffer, updated, saver, call, run)
    return None


def _updated(analysis: Analysis, buffer: int, saver: Op, calls: list[WrapperCalled]) -> Op | None:
    """The op that changed it on this rank between the last call that sent it and the one that saved it."""
    since = max((call.at for call in calls if call.at <= saver.index and buffer in call.tensors), default=-1)
    storage = analysis.capture.tensors[buffer].storage
    made = analysis.flow.birth(buffer)
    writes = [op for op, _ in analysis.writes_in(storage, max(since, 0), saver.index + 1)]
    if made is not None and since <= made.index <= saver.index and made.inputs:
        writes.append(made)
    return next((op for op in reversed(writes) if not op.has(Trait.COLLECTIVE) and not _exchanged(analysis, op)), None)


def _exchanged(analysis: Analysis, op: Op) -> bool:
    """Whether what it wrote came from all ranks."""
    starts = [(tensor, op.index) for tensor in op.inputs]
    return any(above.has(Trait.COLLECTIVE) for above, _ in analysis.flow.upstream(starts))


def lost_entries(analysis: Analysis) -> Iterator[LostEntries]:
    """One for each line that writes entries of a buffer that a loss is computed with, on ranks other than the first."""
    capture, told = analysis.capture, set[int]()
    calls = _calls(analysis)
    sent = {capture.tensors[t].storage: t for call in calls for t in call.tensors if capture.tensors[t].storage >= 0}
    for op in capture.ops if sent else ():
        for write in op.writes:
            buffer = sent.get(write.storage)
            if buffer is None or op.site in told or not writes_entries(capture, op, _size(analysis, buffer)):
                continue
            call = next((call for call in calls if call.at > op.index and buffer in call.tensors), None)
            read = _learned_from(analysis, buffer, call.at) if call is not None else None
            if call is not None and read is not None and _by_this_rank(analysis, op, buffer):
                told.add(op.site)
                yield LostEntries(buffer, op, read, call)


def _size(analysis: Analysis, buffer: int) -> int:
    size = 1
    for length in analysis.capture.tensors[buffer].shape:
        size *= length
    return size


def _by_this_rank(analysis: Analysis, op: Op, buffer: int) -> bool:
    """Whether a model computed what was written, and no other rank has had a part in it."""
    starts = [(tensor, op.index) for tensor in op.inputs if tensor != buffer]
    above = [made for made, _ in analysis.flow.upstream(starts)]
    return any(made.call >= 0 for made in above) and not any(made.has(Trait.COLLECTIVE) for made in above)


def _learned_from(analysis: Analysis, buffer: int, since: int) -> Op | None:
    """The first op since then that reads it, or a copy of it, for a loss."""
    capture, todo, seen = analysis.capture, [buffer], {buffer}
    while todo:
        for index in capture.readers.get(todo.pop(), ()):
            op = capture.ops[index]
            if index < since or op.writes or op.has(Trait.STEP | Trait.BACKWARD):
                continue
            if op.recorded:
                return op
            todo += [t for t in op.outputs if t not in seen]
            seen.update(op.outputs)
    return None
