"""Models that the program called in threads that are no part of the capture: what they computed there is not known."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import CalledElsewhere


class RecordedElsewhere(Struct, frozen=True):
    """Parameters that a call in another thread used with grad mode on, while it was off in the capture's own.

    ``run`` went back to them, although no op of the capture's own thread had used them since the step before the call.
    """

    event: CalledElsewhere
    run: Backward
    tensors: tuple[int, ...]


def used_elsewhere(capture: Capture) -> frozenset[int]:
    """The parameters of the models that were called there."""
    return frozenset(tensor for event in capture.events_of(CalledElsewhere) for tensor in event.tensors)


def recorded_elsewhere(capture: Capture) -> Iterator[RecordedElsewhere]:
    """The first such call of each parameter."""
    told = set[int]()
    runs = [run for run in capture.completed_runs if run.api == "backward"]
    for event in capture.events_of(CalledElsewhere):
        mine = set(event.tensors) - told if event.switch and event.recorded else set[int]()
        run = next((run for run in runs if run.start >= event.at and not mine.isdisjoint(run.reached)), None)
        if run is None:
            continue
        reached = mine.intersection(run.reached) - set(run.empty)
        since = max((step.at for step in capture.steps if step.at < event.at), default=0)
        moved = tuple(sorted(tensor for tensor in reached if not _used_here(capture, tensor, since, run.start)))
        if moved:
            told.update(moved)
            yield RecordedElsewhere(event, run, moved)


def _used_here(capture: Capture, tensor: int, since: int, until: int) -> bool:
    return any(since <= index < until and capture.ops[index].recorded for index in capture.readers.get(tensor, ()))
