"""Steps with what ranks have exchanged of their weights: an outer optimizer's, which begins where the ranks are alike."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reached, Reductions
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated


class StepFromOwn(Struct, frozen=True):
    """``step`` adds what ``call`` made the same on all ranks to ``tensors``, which ``reached`` had moved apart."""

    call: Communicated
    reached: Reached
    step: Step
    tensors: tuple[int, ...]


def steps_from_own(capture: Capture, timeline: Timeline, reductions: Reductions) -> Iterator[StepFromOwn]:
    """The first of that kind: what is added is the same on all ranks, so the weights stay as far apart as they were."""
    if not capture.grad_writes or not reductions.exchanges.calls or reductions.wrappers:
        return
    for step in capture.steps:
        found: list[tuple[int, Reached, Communicated]] = []
        for parameter in step.parameters:
            pair = _of_parameter(capture, timeline, reductions, step, parameter)
            found += [(parameter.tensor, *pair)] if pair is not None else []
        if found:
            _, reached, call = found[0]
            yield StepFromOwn(call, reached, step, tuple(tensor for tensor, *_ in found))
            return


def _of_parameter(
    capture: Capture, timeline: Timeline, reductions: Reductions, step: Step, parameter: ParameterStep
) -> tuple[Reached, Communicated] | None:
    """(the step that moved it by this rank's own gradient, the call that carried what it has moved by)."""
    tensor, exchanges = parameter.tensor, reductions.exchanges
    write = next(iter(timeline.writes_of(tensor).before(step.updates_from + 1)), None)
    moved = next((r for r in reversed(reductions.reached) if r.step.at < step.at and tensor in r.local), None)
    if write is None or moved is None or not moved.step.at < write.at or write.gradient != parameter.gradient:
        return None
    memory = exchanges.storage(tensor)
    end = next((at for at in capture.readers.get(tensor, ()) if at > step.at and capture.ops[at].call >= 0), step.at)
    if memory < 0 or _written(capture, memory, moved.step.at, end) or _steps_between(capture, moved.step, step, tensor):
        return None
    call = _exchanged_alone(capture, reductions, write.gradient, write.at, moved.step.at, memory)
    return None if call is None else (moved, call)


def _written(capture: Capture, memory: int, start: int, end: int) -> bool:
    """Whether anything but steps gives that memory other values between two moments, or its tensor another memory."""
    ops = capture.ops[start + 1 : end + 1]
    return any(not op.has(Trait.STEP) and any(write.storage == memory for write in op.writes) for op in ops)


def _steps_between(capture: Capture, first: Step, last: Step, tensor: int) -> bool:
    return any(first.at < step.at < last.at and tensor in step.held for step in capture.steps)


def _exchanged_alone(
    capture: Capture, reductions: Reductions, gradient: int, at: int, start: int, weight: int
) -> Communicated | None:
    """The call that a gradient was computed by, and that was given that weight; None where the weight goes in past it."""
    exchanges = reductions.exchanges
    calls = {
        call.at: call for call in exchanges.calls if start < call.at < at and is_a(call.name, OpKind.REDUCES_RANKS)
    }
    todo, seen, met = [(gradient, at)], set[int](), None
    while todo:
        tensor, before = todo.pop()
        op = _last_writer(capture, exchanges.storage(tensor), tensor, start, before)
        if op is None:
            if exchanges.storage(tensor) == weight:
                return None
            continue
        if op.index in calls:
            call = calls[op.index]
            if weight not in exchanges.carried(start, call.at + 1, of={call.at}):
                return None
            met = call
        elif op.index not in seen:
            seen.add(op.index)
            todo += [(read, op.index) for read in op.inputs]
    return met


def _last_writer(capture: Capture, memory: int, tensor: int, start: int, before: int) -> Op | None:
    """What gave a tensor its values, behind a moment."""
    for op in reversed(capture.ops[start + 1 : before]):
        if tensor in op.outputs or any(write.storage == memory >= 0 for write in op.writes):
            return op
    return None
