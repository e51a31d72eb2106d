"""Models that ``copy.copy`` made: they have the very parameters of the model that they are copies of."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.call_ops import ops_within
from autograd_inspector.analysis.modules.repeated import Calls
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ModuleCopied

_FEWEST = 2
"""A model and one copy may be two ways to compute with the same parameters."""


class TrainedTogether(Struct, frozen=True):
    """The ``count`` copies that one line made share the parameters of a model, and several ``optimizers`` train them."""

    copied: ModuleCopied
    count: int
    optimizers: tuple[OptimizerRecord, ...]


class EqualTwins(Struct, frozen=True):
    """``one`` and ``other`` are calls of a module and of its shallow copy, ``copied``, that computed the same."""

    copied: ModuleCopied
    one: ModuleCall
    other: ModuleCall


def equal_twins(analysis: Analysis) -> Iterator[EqualTwins]:
    """Each copy once, where both are to learn: of two that only look nothing is known."""
    capture, calls = analysis.capture, Calls(analysis)
    events = {event.type: event for event in capture.events_of(ModuleCopied)} if capture.steps else {}
    made: dict[str, dict[object, ModuleCall]] = {}
    for call in capture.calls if events else ():
        event = events.get(call.type)
        if event is None or call.at < event.at or not _learns(analysis, call, event):
            continue
        first = made.setdefault(call.type, {}).setdefault(calls.computed(call) or call.id, call)
        if (first.root, first.path) != (call.root, call.path):
            del events[call.type]
            yield EqualTwins(event, first, call)


def _learns(analysis: Analysis, call: ModuleCall, event: ModuleCopied) -> bool:
    """Whether the first op of the call that reads one of the parameters has a graph, and that one is stepped."""
    capture = analysis.capture
    learning = analysis.optimized_trainable.intersection(event.tensors)
    return any(op.recorded and not learning.isdisjoint(op.inputs) for op in ops_within(capture, call))


def trained_together(analysis: Analysis) -> Iterator[TrainedTogether]:
    """Each line once. One optimizer may train a model through copies of it that compute in other ways."""
    optimizers = analysis.capture.placement.optimizers
    for (_, shared), events in grouped(
        analysis.capture.events_of(ModuleCopied),
        lambda event: (line_of(analysis, event.site), frozenset(event.tensors)),
    ).items():
        if len(events) >= _FEWEST:
            stepping = tuple(o for o in optimizers if o.steps and not shared.isdisjoint(o.held))
            if len(stepping) > 1:
                yield TrainedTogether(events[-1], len(events), stepping)
