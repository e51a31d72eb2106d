"""Gradients that came from other ranks, and that the next assignment to .grad replaced before anything read them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradWrite, Step
from autograd_inspector.model.program_events import Communicated


class Overwritten(Struct, frozen=True):
    """``call`` brought gradients of ``tensors``, and ``write`` assigned others: ``step`` uses these alone."""

    call: Communicated
    write: GradWrite
    step: Step
    tensors: tuple[int, ...]


def overwritten(capture: Capture, timeline: Timeline, reductions: Reductions) -> Iterator[Overwritten]:
    """One for each line that assigns."""
    lines: dict[int, list[tuple[Communicated, GradWrite, Step]]] = {}
    for tensor in dict.fromkeys(write.tensor for write in capture.grad_writes if write.gradient >= 0):
        for first, second in pairwise(timeline.writes_of(tensor).all):
            if first.gradient < 0 or second.gradient in (-1, first.gradient):
                continue
            step = next((s for s in capture.steps if s.at >= second.at and tensor in s.held), None)
            call = _brought(capture, reductions, first, second)
            if step is None or call is None or _stepped(capture, first) or not _uses(step, second):
                continue
            if not _read(capture, reductions, first.gradient, call.at):
                lines.setdefault(second.site, []).append((call, second, step))
    for found in lines.values():
        call, write, step = found[0]
        yield Overwritten(call, write, step, tuple(dict.fromkeys(w.tensor for _, w, _ in found)))


def _brought(capture: Capture, reductions: Reductions, first: GradWrite, second: GradWrite) -> Communicated | None:
    """The call that wrote to the first gradient, before or after it was assigned."""
    exchanges, born = reductions.exchanges, capture.tensors[first.gradient].birth
    memory = exchanges.storage(first.gradient)
    calls = [call for call in exchanges.calls if born <= call.at < second.at]
    brings = (call for call in reversed(calls) if memory in {exchanges.storage(t) for t in exchanges.received(call)})
    return next(brings, None) if memory >= 0 else None


def _stepped(capture: Capture, write: GradWrite) -> bool:
    return any(p.gradient == write.gradient for step in capture.steps for p in step.parameters)


def _uses(step: Step, write: GradWrite) -> bool:
    return any(p.tensor == write.tensor and p.gradient >= 0 for p in step.parameters)


def _read(capture: Capture, reductions: Reductions, gradient: int, start: int) -> bool:
    """Whether anything but another write read that memory behind a call."""
    memory = reductions.exchanges.storage(gradient)
    return any(
        not is_a(op.name, OpKind.TAKES_SHAPE_ONLY) and any(reductions.exchanges.storage(t) == memory for t in op.inputs)
        for op in capture.ops[start + 1 :]
    )
