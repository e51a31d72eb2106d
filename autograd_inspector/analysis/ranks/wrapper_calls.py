"""The calls of wrappers: in which of them a parameter was used, and what a wrapper waited for in vain."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import (
    ReplicasWrapped,
    SyncSwitchedOff,
    WrapperCalled,
    WrapperReturned,
)


class WrapperCalls:
    """Answers about the calls of what wraps replicas."""

    def __init__(self, capture: Capture, timeline: Timeline) -> None:
        self._capture = capture
        self._timeline = timeline

    def call_of(self, wrapper: ReplicasWrapped, tensor: int, run: Backward) -> WrapperCalled | None:
        """The call of a wrapper in which a parameter was used for a backward; None where it was used past it.

        Where no op is known that used it, in compiled code, the last call since the backward before.
        """
        last = self.used_by(tensor, run)
        calls = [each for each in self._calls if each.wrapper == wrapper.wrapper and each.at <= run.start]
        if last is not None:
            inside = self._inside(last, wrapper.type)
            return next((each for each in reversed(calls) if each.at <= last.index), None) if inside else None
        before = next(iter(self._timeline.backwards.before(run.start)), None)
        return calls[-1] if calls and (before is None or calls[-1].at >= before.start) else None

    def used_by(self, tensor: int, run: Backward) -> Op | None:
        """The last op of a forward that a parameter went into before a backward, where one is known.

        One that autograd recorded, if there is any: the gradient comes from there.
        """
        readers, ops = self._capture.readers.get(tensor, []), self._capture.ops
        # What a checkpoint computes anew within a backward was called before, in the forward.
        before_it = [ops[at] for at in reversed(readers[: bisect_left(readers, run.start)])]
        forward = [op for op in before_it if not op.has(Trait.BACKWARD)]
        return next((op for op in forward if op.recorded), forward[0] if forward else None)

    def unreached(self, wrapper: ReplicasWrapped, call: WrapperCalled, end: int) -> list[int]:
        """What a wrapper waits for in vain: what no backward reached from a call of its forward to a moment.

        Nothing, where it looks for such parameters itself. Of a static graph it waits for what the first step reached.
        """
        if wrapper.searches and not wrapper.static:
            return []
        runs = self._timeline.backwards.within(call.at, end)
        reached = {tensor for run in runs for tensor in run.reached}
        if any(run.graph.blind for run in runs) or reached.isdisjoint(wrapper.tensors):
            return []
        expected = self._first_reached(wrapper) if wrapper.static else wrapper.tensors
        return [tensor for tensor in expected if tensor not in reached]

    def runs_inside(self, call: WrapperCalled, run: Backward) -> bool:
        """Whether a backward ran while a call of a wrapper did."""
        ends = (e.at for e in self._capture.events_of(WrapperReturned) if e.wrapper == call.wrapper and e.at >= call.at)
        return call.at <= run.start < next(ends, -1)

    def switched_off(self, call: WrapperCalled) -> SyncSwitchedOff | None:
        """The ``no_sync()`` that a call of a wrapper may be in."""
        offs = [
            off for off in self._capture.events_of(SyncSwitchedOff) if off.wrapper == call.wrapper and off.at <= call.at
        ]
        return offs[-1] if offs else None

    @cached_property
    def _calls(self) -> tuple[WrapperCalled, ...]:
        return tuple(call for call in self._capture.events_of(WrapperCalled) if call.learns)

    def _inside(self, op: Op, kind: str) -> bool:
        return any(call.type == kind for call in self._capture.calls_around(op.call))

    def _first_reached(self, wrapper: ReplicasWrapped) -> list[int]:
        """What the first backward through a wrapper reached of it."""
        managed = set(wrapper.tensors)
        first = next((run for run in self._timeline.backwards.all if not managed.isdisjoint(run.reached)), None)
        return [tensor for tensor in wrapper.tensors if first is not None and tensor in first.reached]
