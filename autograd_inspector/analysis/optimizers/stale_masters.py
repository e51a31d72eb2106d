"""Weights that are loaded behind the making of the copies that an optimizer steps in their place, and so are lost.

Mixed precision by hand, a shard of a flat copy: each step writes the copies back over the model. What a program loads
only to evaluate, it replaces again before it trains; what it copies into the copies as well, stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModelLoaded

_DEEPEST = 16
"""So many ops flatten, join, convert and cut up what is copied."""


class StaleMaster(Struct, frozen=True):
    """``step`` moved ``masters``, copies of ``parameters`` from before ``loaded``; ``back`` then wrote them over these."""

    parameters: tuple[int, ...]
    copied: Op
    loaded: ModelLoaded
    step: Step
    back: Op


def stale_masters(analysis: Analysis) -> Iterator[StaleMaster]:
    """One record for each load; nothing where older steps are folded away: they may have copied anew."""
    capture = analysis.capture
    loads = [event for event in capture.events_of(ModelLoaded) if not event.assign]
    if not loads or capture.history.folded:
        return
    for load in loads:
        step = next((s for s in capture.steps if s.at >= load.at and not s.error), None)
        if step is not None:
            found = _of_load(analysis, load, step)
            if found is not None:
                yield found


def _of_load(analysis: Analysis, load: ModelLoaded, step: Step) -> StaleMaster | None:
    tensors = analysis.capture.tensors
    lost: list[int] = []
    copied: Op | None = None
    back: Op | None = None
    for met in step.parameters:
        birth = tensors[met.tensor].birth
        if met.tensor in load.tensors or not 0 <= birth < load.at:
            continue
        memory = tensors[met.tensor].storage
        if any(
            not op.has(Trait.STEP) for op, _ in analysis.writes_to(memory, met.tensor, birth + 1, step.updates_from)
        ):
            continue
        sources = _above(analysis, met.tensor, birth + 1, -1)
        for parameter in load.tensors:
            if tensors[parameter].storage not in sources or not _trained_as_loaded(analysis, load, parameter, step):
                continue
            op = _written_back(analysis, parameter, memory, step)
            if op is not None:
                lost.append(parameter)
                copied, back = copied or analysis.capture.ops[birth], back or op
    return None if copied is None or back is None else StaleMaster(tuple(lost), copied, load, step, back)


def _trained_as_loaded(analysis: Analysis, load: ModelLoaded, parameter: int, step: Step) -> bool:
    """Whether the gradients of a step are those of the loaded values, and these are not the parameter's own."""
    capture, storage = analysis.capture, analysis.capture.tensors[parameter].storage
    runs = [run for run in capture.completed_runs if load.at <= run.start and run.end <= step.updates_from]
    if not any(parameter in run.reached for run in runs):
        return False
    written = next((op for op, _ in analysis.writes_back(storage, 0, load.at)), None)
    if written is None or storage in _above(analysis, written.inputs[-1], written.index, -1):
        return False
    return not any(analysis.writes_to(storage, parameter, load.at, step.updates_from))


def _written_back(analysis: Analysis, parameter: int, memory: int, step: Step) -> Op | None:
    """What first writes to a parameter behind a step, if that copies what the step has moved."""
    storage, end = analysis.capture.tensors[parameter].storage, len(analysis.capture.ops)
    op = next((op for op, _ in analysis.writes_to(storage, parameter, step.at, end) if not op.has(Trait.STEP)), None)
    if op is None or not is_a(op.name, OpKind.COPIES_INTO):
        return None
    return op if memory in _above(analysis, op.inputs[-1], op.index, step.at) else None


def _above(analysis: Analysis, tensor: int, before: int, since: int) -> set[int]:
    """The memory that a tensor's values came from, by ops between two moments, through calls of other ranks too."""
    capture = analysis.capture
    todo, met, memory = [(tensor, before, _DEEPEST)], {tensor}, set[int]()
    while todo:
        each, end, deepest = todo.pop()
        record = capture.tensors[each]
        memory.add(record.storage)
        makers = [capture.ops[record.birth]] if since < record.birth < end else []
        makers += [
            op for op, _ in analysis.writes_to(record.storage, each, max(since, 0), end) if op.has(Trait.COLLECTIVE)
        ]
        for op in makers if deepest else ():
            new = [read for read in op.inputs if read not in met and not op.has(Trait.STEP | Trait.BACKWARD)]
            met.update(new)
            todo += [(read, op.index, deepest - 1) for read in new]
    return memory - {-1}
