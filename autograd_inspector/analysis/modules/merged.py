"""Parameters whose values were put into another one, and that no backward has reached since: adapters left merged."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait


class Merged(Struct, frozen=True):
    """``write`` put the values of ``tensors`` into ``into``; the optimizer still has them when it steps after ``run``.

    ``run`` is the first of the backwards since, all of which miss them.
    """

    tensors: tuple[int, ...]
    into: int
    write: Op
    run: Backward


def merged_away(analysis: Analysis) -> Iterator[Merged]:
    """One record for each write.

    Of another shape than what it was computed of, for a moving average has the shape of what it averages; and into a
    parameter of the same model that the losses since are computed with.
    """
    found: dict[int, list[tuple[int, int, Backward]]] = {}
    for tensor in sorted(analysis.optimized_trainable & analysis.received_gradient):
        for last in analysis.timeline.backwards_to(tensor).all[-1:]:
            run = _missed_since(analysis, tensor, last)
            if run is not None:
                for index, into in _writes(analysis, tensor, last, run):
                    found.setdefault(index, []).append((tensor, into, run))
    for index, parts in found.items():
        yield Merged(tuple(t for t, _, _ in parts), parts[0][1], analysis.capture.ops[index], parts[0][2])


def _missed_since(analysis: Analysis, tensor: int, last: Backward) -> Backward | None:
    """The first backward behind the last one to a parameter that reaches others of that one, and is stepped with."""
    shared = set(last.reached) - {tensor}
    for run in analysis.timeline.backwards.since(last.end):
        if run.index > last.index and not shared.isdisjoint(run.reached):
            steps = analysis.timeline.steps.since(run.end)
            return run if any(tensor in step.held for step in steps) else None
    return None


def _writes(analysis: Analysis, tensor: int, last: Backward, run: Backward) -> Iterator[tuple[int, int]]:
    """(op, parameter) of what was written in between, of values of the tensor, and read by the loss of ``run``."""
    capture, flow = analysis.capture, analysis.flow
    for op in capture.ops[last.end : run.start]:
        if not op.writes or op.has(Trait.STEP | Trait.BACKWARD):
            continue
        storages = {write.storage for write in op.writes}
        into = next((t for t in _owned_beside(analysis, tensor) if capture.tensors[t].storage in storages), -1)
        if into < 0 or not any(op.index < at < run.start for at in capture.readers.get(into, ())):
            continue
        above = flow.upstream([(read, op.index) for read in op.inputs if capture.tensors[read].storage not in storages])
        own = capture.tensors[tensor].storage
        if any(capture.tensors[read].storage == own for made, _ in above for read in made.inputs):
            yield op.index, into


def _owned_beside(analysis: Analysis, tensor: int) -> Iterator[int]:
    """The parameters of the same model that have another shape."""
    capture = analysis.capture
    root = capture.owners.get(tensor, -1)
    for other, owner in capture.owners.items() if root >= 0 else ():
        if owner == root and other != tensor and capture.tensors[other].shape != capture.tensors[tensor].shape:
            yield other
