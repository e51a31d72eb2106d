"""Optimizer state that a file holds and nothing reads: the parameters were loaded from that file, and the state begins anew.

Whether it is such state, the shapes tell: a file from which all parameters of an optimizer were copied holds further
tensors of their shapes, at least as many as that optimizer keeps for them, and no op uses one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.restored import copied_in
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import StateSaved

_Kind = tuple[tuple[int, ...], str]
"""Shape and dtype."""


class UnloadedState(Struct, frozen=True):
    """``read`` brought what ``copied`` put into the parameters of the optimizer, which ``step`` steps without state.

    ``unread``: so many tensors of their shapes it brought beside. ``saved``: the state of an optimizer of the same
    class and options was saved before, which does not step again: then the run goes on.
    """

    optimizer: int
    tensors: tuple[int, ...]
    read: Op
    copied: Op
    unread: int
    step: Step
    saved: StateSaved | None


class _File(Struct):
    """The ops that rebuilt its tensors, which parameter each op copied one into, and the tensors that ops used."""

    made: list[Op]
    copies: dict[int, Op]
    used: set[int]


def unloaded_states(analysis: Analysis) -> Iterator[UnloadedState]:
    """The first time for each optimizer."""
    told: set[int] = set()
    for file in _files(analysis):
        for optimizer in analysis.timeline.holders(file.copies) if file.copies else ():
            found = _unloaded(analysis, optimizer, file) if optimizer not in told else None
            if found is not None:
                told.add(optimizer)
                yield found


def _files(analysis: Analysis) -> list[_File]:
    """Its tensors are rebuilt one after the other, from one line."""
    capture = analysis.capture
    files: list[_File] = []
    rebuilt: dict[int, _File] = {}
    trained = {capture.tensors[t].storage: t for t in analysis.optimized_trainable}
    for op in capture.ops:
        if is_a(op.name, OpKind.UNPICKLES):
            last = files[-1].made[-1] if files else None
            if last is None or (op.site, op.index) != (last.site, last.index + 1):
                files.append(_File([], {}, set()))
            files[-1].made.append(op)
            rebuilt.update((tensor, files[-1]) for tensor in op.outputs)
        elif rebuilt:
            for tensor in op.inputs:
                if tensor in rebuilt:
                    rebuilt[tensor].used.add(tensor)
            for write in op.writes:
                source = copied_in(op, write)
                if source in rebuilt and write.storage >= 0 and write.storage in trained:
                    rebuilt[source].copies[trained[write.storage]] = op
    return files


def _unloaded(analysis: Analysis, optimizer: int, file: _File) -> UnloadedState | None:
    capture, timeline, copies = analysis.capture, analysis.timeline, file.copies
    record = capture.placement.optimizers[optimizer]
    copied = max((copies[t] for t in record.held if t in copies), key=lambda op: op.index)
    step = next((step for step in timeline.steps_of(optimizer).since(copied.index) if not step.error), None)
    if step is None or any(True for _ in timeline.loads_of(optimizer).since(-1)):
        return None
    fresh = record.created_at >= 0 and not timeline.steps_of(optimizer).passed(copied.index)
    begun = fresh or all(p.begun for p in step.parameters if p.gradient >= 0)
    if not begun or not all(t in copies for t in record.held):
        return None
    rows = capture.placement.rows_of.get(optimizer, [])
    kept = Counter((e.shape, e.dtype) for row in rows for e in row.state if e.shape == row.shape and e.key != "step")
    unread = _kinds(analysis, (t for op in file.made for t in op.outputs if t not in file.used))
    if not kept or any(unread[kind] < count for kind, count in kept.items()):
        return None
    saved = _saved(analysis, record, file.made[0].index)
    return UnloadedState(optimizer, record.held, file.made[0], copied, sum(unread[kind] for kind in kept), step, saved)


def _kinds(analysis: Analysis, tensors: Iterable[int]) -> Counter[_Kind]:
    records = (analysis.capture.tensors[tensor] for tensor in tensors)
    return Counter((record.shape, record.dtype) for record in records)


def _saved(analysis: Analysis, record: OptimizerRecord, before: int) -> StateSaved | None:
    """The last time that the state of one of the same class and options was saved, which has stepped and does not again."""
    optimizers = analysis.capture.placement.optimizers
    for event in reversed(analysis.capture.events_of(StateSaved)):
        steps = analysis.timeline.steps_of(event.optimizer)
        if event.at > before or event.optimizer == record.id or not steps.passed(event.at):
            continue
        if any(True for _ in steps.since(before)):
            continue
        if _options(optimizers[event.optimizer]) == _options(record):
            return event
    return None


def _options(record: OptimizerRecord) -> tuple[object, ...]:
    """Class and options, with the learning rates from which schedulers begin."""
    groups = ({**group, "lr": group.get("initial_lr", group.get("lr"))} for group in record.groups)
    return (record.type, *({k: v for k, v in group.items() if k != "initial_lr"} for group in groups))
