"""Gradients of one backward that updates by hand use again and again, while new ones go unread."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.updates_by_hand import updates
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.op import Op

_NEAR = 8
"""Ops between a gradient and an update with it: a rate, a clip, a weight decay."""


_FEWEST = 2
"""Backwards since, whose own gradients nobody reads: after one, the old gradient may take a step back."""


class Outlived(Struct, frozen=True):
    """``update`` used what ``read`` got of ``.grad`` before the ``runs``, which made new gradients of the parameter."""

    read: GradRead
    update: Op
    runs: tuple[Backward, ...]


def outlived_by_line(analysis: Analysis) -> Iterator[tuple[int, dict[int, Outlived]]]:
    """(site, parameter -> what was found of it) for each line that keeps such gradients."""
    by_site: dict[int, dict[int, Outlived]] = {}
    reads: dict[int, list[GradRead]] = {}
    for read in analysis.capture.grad_reads:
        if read.gradient >= 0 and not read.asks:
            reads.setdefault(read.tensor, []).append(read)
    last = {update.parameter: update.op for update in (updates(analysis) if reads else ()) if update.kept}
    for parameter, op in last.items():
        found = _outlived(analysis, parameter, op, reads.get(parameter, []))
        if found is not None:
            by_site.setdefault(found.read.site, {})[parameter] = found
    yield from by_site.items()


def _outlived(analysis: Analysis, parameter: int, op: Op, reads: list[GradRead]) -> Outlived | None:
    read = reads[0] if len({read.gradient for read in reads}) == 1 else None
    if read is None or read.at > op.index or not _computed_from(analysis, op, read.gradient):
        return None
    later = [
        run
        for run in analysis.capture.completed_runs
        if run.start >= read.at and run.end <= op.index and parameter in run.reached
    ]
    # A stale gradient was added to: it is the same tensor, with the new values.
    if len(later) < _FEWEST or any(parameter in run.stale or parameter in run.empty for run in later):
        return None
    return Outlived(read, op, tuple(later))


def _computed_from(analysis: Analysis, op: Op, gradient: int) -> bool:
    tensors = [*op.inputs]
    for _ in range(_NEAR):
        if gradient in tensors or not tensors:
            return gradient in tensors
        made = [
            birth for tensor in tensors if (birth := analysis.flow.birth(tensor)) is not None and not birth.recorded
        ]
        tensors = [read for birth in made for read in birth.inputs]
    return False
