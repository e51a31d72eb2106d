"""State of steps that were taken back: the parameters got the values again that they had had before.

An optimizer may be meant to keep its moments over that, as those do that average over tasks. But who saved its state
beside the values, and gives back the values alone, has forgotten it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.restored import taken
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import StateSaved

_ASIDE = Trait.STEP | Trait.BACKWARD


class OutlivedState(Struct, frozen=True):
    """``restored`` gave the parameters the values back that ``kept`` had copied, ``undone`` steps before.

    ``saved``: the optimizer's state was, between the same two steps as the values. ``following`` goes on with the
    state of the steps that were undone.
    """

    optimizer: int
    tensors: tuple[int, ...]
    kept: Op
    restored: Op
    undone: int
    saved: StateSaved
    following: Step


def outlived_states(analysis: Analysis) -> Iterator[OutlivedState]:
    """The first time for each optimizer."""
    told: set[int] = set()
    for kept, restored, tensors in _rollbacks(analysis) if analysis.capture.events_of(StateSaved) else ():
        for optimizer in analysis.timeline.holders(tensors):
            found = _outlived(analysis, optimizer, kept, restored, tensors) if optimizer not in told else None
            if found is not None:
                told.add(optimizer)
                yield found


def _rollbacks(analysis: Analysis) -> Iterator[tuple[Op, Op, tuple[int, ...]]]:
    """(the first op that copied values out, the last that copied them back at one line, the parameters)."""
    capture = analysis.capture
    by_storage = {
        capture.tensors[t].storage: t for t in analysis.optimized_trainable if capture.tensors[t].storage >= 0
    }
    begun: dict[int, Op] = {}
    last: Op | None = None
    for op in writing(capture):
        put = [
            (by_storage[write.storage], kept)
            for write in (() if op.has(_ASIDE) else op.writes)
            if write.storage in by_storage and (kept := taken(analysis, op, write)) is not None
        ]
        if not put:
            continue
        if last is not None and (last.site != op.site or analysis.timeline.steps.within(last.index, op.index)):
            yield min(begun.values(), key=lambda kept: kept.index), last, tuple(begun)
            begun = {}
        begun.update(put)
        last = op
    if last is not None:
        yield min(begun.values(), key=lambda kept: kept.index), last, tuple(begun)


def _outlived(
    analysis: Analysis, optimizer: int, kept: Op, restored: Op, tensors: tuple[int, ...]
) -> OutlivedState | None:
    timeline = analysis.timeline
    steps = timeline.steps_of(optimizer)
    undone = [step for step in steps.within(kept.index, restored.index) if not step.error]
    following = next((step for step in steps.since(restored.index) if not step.error), None)
    if not undone or following is None:
        return None
    moved = {p.tensor for step in undone for p in step.parameters if p.gradient >= 0}
    goes_on = {p.tensor for p in following.parameters if p.gradient >= 0 and not p.begun}
    stated = {row.tensor for row in analysis.capture.placement.rows_of.get(optimizer, ()) if row.state}
    before = next((step.at for step in steps.before(kept.index)), 0)
    saved = [
        event
        for event in analysis.capture.events_of(StateSaved)
        if event.optimizer == optimizer and before <= event.at <= undone[0].start
    ]
    loaded = timeline.loads_of(optimizer).within(undone[-1].at, following.at)
    if not moved <= set(tensors) or not moved & goes_on & stated or not saved or loaded:
        return None
    return OutlivedState(optimizer, tuple(sorted(moved)), kept, restored, len(undone), saved[-1], following)
