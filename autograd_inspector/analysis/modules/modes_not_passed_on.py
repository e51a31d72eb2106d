"""Layers that stay in train mode in an evaluation, because a ``train()`` of the program's own passes no mode on."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.train_mode_effects import differs, each_once
from autograd_inspector.analysis.modules.training_modes import within
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import ModeNotPassedOn, ModeSwitched


class NotPassedOn(Struct, frozen=True):
    """``event`` left layers in train mode; ``dropping`` and ``counting`` are calls of these in which that shows."""

    event: ModeNotPassedOn
    op: Op
    dropping: tuple[ModuleCall, ...]
    counting: tuple[ModuleCall, ...]


def modes_not_passed_on(analysis: Analysis) -> Iterator[NotPassedOn]:
    """Each such method once.

    One that passes the mode on to all but some dropouts means to draw samples with them. So what it left out has to
    have modules in it that do the same in both modes.
    """
    capture = analysis.capture
    told: set[int] = set()
    events = capture.events_of(ModeNotPassedOn)
    ops = [op for op in capture.ops if events and op.call >= 0 and not op.has(Trait.BACKWARD) and differs(capture, op)]
    for event in events:
        shown = [op for op in ops if event.at <= op.index and _stayed(analysis, event, op)]
        calls = [capture.calls[op.call] for op in shown]
        paths = {path if not event.path else f"{event.path}.{path}" for path in event.missed}
        if shown and event.site not in told and paths - {call.path for call in calls}:
            told.add(event.site)
            yield NotPassedOn(
                event,
                shown[0],
                each_once(c for c, op in zip(calls, shown, strict=True) if op.has(Trait.DRAWS)),
                each_once(c for c, op in zip(calls, shown, strict=True) if is_a(op.name, OpKind.KEEPS_STATISTICS)),
            )


def _stayed(analysis: Analysis, event: ModeNotPassedOn, op: Op) -> bool:
    """Whether an op ran in a module that was left out, before that or what is around it was put into train mode."""
    call = analysis.capture.calls[op.call]
    inner = call.path.removeprefix(f"{event.path}.") if event.path else call.path
    if call.root != event.model or not within(call.path, event.path) or inner not in event.missed:
        return False
    later = (e for e in analysis.capture.events[analysis.capture.events.index(event) :] if isinstance(e, ModeSwitched))
    return not any(
        s.model == event.model and s.training and s.at <= call.at and within(call.path, s.path) for s in later
    )
