"""What a rank does with its shards of gradients that ``fully_shard`` has reduced."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated


class ScaledAlone(Struct, frozen=True):
    """``write`` scales shards by one number, which came from ``read`` of shards of this rank, before ``step``."""

    read: Op
    write: Op
    step: Step
    tensors: tuple[int, ...]


def scaled_alone(capture: Capture, timeline: Timeline, reductions: Reductions) -> Iterator[ScaledAlone]:
    """For each step, the first of that kind; nothing where ranks exchanged anything between backward and that op."""
    shards = {tensor for event in reductions.sharded_models for tensor in event.tensors}
    for step in capture.steps if shards else ():
        tensors = tuple(p.tensor for p in step.parameters if p.tensor in shards and p.gradient >= 0)
        run = next(iter(timeline.backwards.before(step.updates_from + 1)), None)
        memory = _scattered(capture, run) if tensors and run is not None else set[int]()
        pair = scaled_by_own(capture, reductions, memory, run.end, step.updates_from) if run is not None else None
        if pair is not None:
            yield ScaledAlone(*pair, step, tensors)


class ShardsSummed(Struct, frozen=True):
    """``call`` adds up different parts of the gradients of ``tensors``, as if each rank had all of it."""

    call: Communicated
    step: Step
    tensors: tuple[int, ...]


def shards_summed(capture: Capture, timeline: Timeline, reductions: Reductions) -> Iterator[ShardsSummed]:
    """For each step; nothing where the ranks of the call need not be those that the shards are dealt out to."""
    shards = {t for e in reductions.sharded_models if e.world == capture.world_size for t in e.tensors}
    for step in capture.steps if shards and reductions.exchanges.calls else ():
        tensors = tuple(p.tensor for p in step.parameters if p.tensor in shards and p.gradient >= 0)
        run = next(iter(timeline.backwards.before(step.updates_from + 1)), None)
        memory = _scattered(capture, run) if tensors and run is not None else set[int]()
        for call in reductions.exchanges.within(run.end, step.updates_from) if run is not None and memory else ():
            whole = call.op in {"sum", "avg"} and call.name == "all_reduce" and call.world == capture.world_size
            if whole and not memory.isdisjoint(map(reductions.exchanges.storage, call.tensors)):
                yield ShardsSummed(call, step, tensors)
                break


def scaled_by_own(
    capture: Capture, reductions: Reductions, memory: set[int], start: int, end: int
) -> tuple[Op, Op] | None:
    """(what read gradients in that memory, what scaled them by a number from there), before any exchange."""
    exchanges = reductions.exchanges
    numbers: dict[int, Op] = {}
    """What was computed from the shards -> the op that read them."""
    for op in capture.ops[start:end] if memory else ():
        stored = [*(exchanges.storage(t) for t in op.outputs), *(write.storage for write in op.writes)]
        given = [exchanges.storage(t) for t in op.inputs]
        scalars = [exchanges.storage(t) for t in op.inputs if exchanges.elements(t) == 1]
        if not memory.isdisjoint(write.storage for write in op.writes):
            source = next((numbers[storage] for storage in scalars if storage in numbers), None)
            if source is not None and not _exchanged(reductions, start, op.index):
                return source, op
            continue
        first = next((numbers[storage] for storage in given if storage in numbers), None)
        source = first if first is not None else op if not memory.isdisjoint(given) else None
        if source is not None:
            numbers |= {s: numbers.get(s, source) for s in stored if s >= 0 and s not in memory}
    return None


def _scattered(capture: Capture, run: Backward) -> set[int]:
    """The memory that a backward's reductions dealt out to this rank."""
    ops = capture.ops[run.start : run.end]
    scatters = (op for op in ops if op.has(Trait.BACKWARD) and op.name.startswith("reduce_scatter"))
    return {write.storage for op in scatters for write in op.writes} - {-1}


def _exchanged(reductions: Reductions, start: int, end: int) -> bool:
    return bool(reductions.exchanges.within(start, end + 1))
