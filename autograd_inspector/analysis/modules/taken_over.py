"""Calls that were of one model, and are of another one later: the one that learns has taken over its name.

A target network, a teacher or an old policy that was assigned, and not copied, moves with every step from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.callers import callee
from autograd_inspector.analysis.modules.call_ops import ops_within
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import ModelsShared

_BOTH = 2


class TakenOver(Struct, frozen=True):
    """``call`` is the first of the learning model at a line that had called another model of its class until then.

    ``trained`` is a call of that model, at another line, which a backward goes through; ``named``: what gave it the name.
    """

    call: ModuleCall
    trained: ModuleCall
    named: ModelsShared | None


def models_taken_over(analysis: Analysis) -> Iterator[TakenOver]:
    """One for each line that computes constants, by the former model and by the one that learns."""
    capture = analysis.capture
    if capture.history.folded or not capture.steps:
        return
    lines: dict[object, list[ModuleCall]] = {}
    for call in capture.calls:
        if call.parent < 0 and (line := line_of(analysis, call.site)) is not None:
            lines.setdefault(line, []).append(call)
    for at, calls in lines.items():
        models = [tuple(group) for _, group in groupby(calls, key=lambda call: (call.root, call.path))]
        if len(models) == _BOTH:
            found = _found(
                analysis, models[0], models[1], [c for key, each in lines.items() if key != at for c in each]
            )
            if found is not None:
                yield found


def _found(
    analysis: Analysis, former: tuple[ModuleCall, ...], later: tuple[ModuleCall, ...], others: list[ModuleCall]
) -> TakenOver | None:
    first, last = later[0], later[-1]
    own, learning = _parameters(analysis, former[-1]), _parameters(analysis, first)
    learning &= analysis.optimized_trainable & analysis.received_gradient
    if former[-1].type != first.type or not own or not learning or own & (learning | analysis.capture.optimized):
        return None
    if any(op.recorded for call in (*former, *later) for op in ops_within(analysis.capture, call)):
        return None
    moved = any(first.at <= step.at < last.at and not learning.isdisjoint(step.held) for step in analysis.capture.steps)
    same = (call for call in others if (call.root, call.path) == (first.root, first.path) and call.at > former[-1].at)
    trained = next((call for call in same if any(op.recorded for op in ops_within(analysis.capture, call))), None)
    return TakenOver(first, trained, _named(analysis, first)) if moved and trained is not None else None


def _parameters(analysis: Analysis, call: ModuleCall) -> frozenset[int]:
    tensors = analysis.capture.tensors
    return frozenset(
        t for op in ops_within(analysis.capture, call) for t in op.inputs if tensors[t].kind == "parameter"
    )


def _named(analysis: Analysis, call: ModuleCall) -> ModelsShared | None:
    """What gave the model the name by which it is called there, and not a copy of it."""
    name = callee(analysis.capture.place(call.site))
    events = analysis.capture.events_of(ModelsShared)
    return next((event for event in events if event.name == name and not event.copied), None)
