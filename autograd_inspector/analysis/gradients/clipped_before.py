"""Gradients that clipping limits, and that a number multiplies before the step: the limit holds for others."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import GradRead, Step
from autograd_inspector.model.op import Op


class ScaledAfterClipping(Struct, frozen=True):
    """``scaled`` is the first of the ops of one line that multiply all gradients, ``tensors``, that one call clipped.

    ``summed``: so many backwards were added up in them.
    """

    step: Step
    clipped: GradRead
    scaled: Op
    tensors: tuple[int, ...]
    summed: int


def scaled_after(
    analysis: Analysis, sources: GradientSources, clipping: Collection[int]
) -> Iterator[ScaledAfterClipping]:
    """Each line once. What is scaled in parts (layer by layer, a new head) has another factor on purpose."""
    told: set[int] = set()
    for step in analysis.capture.steps if clipping else ():
        clipped: dict[int, GradRead] = {}
        scaled: dict[int, dict[int, Op]] = {}
        summed = 0
        for consumed in () if step.error else sources.of(step):
            read = _clipped(analysis, consumed, sources.since(step), clipping)
            if read is None:
                continue
            clipped[consumed.tensor] = read
            summed = max(summed, len(consumed.contributions))
            for op in _scaled(analysis, consumed, read, clipping):
                scaled.setdefault(op.site, {})[consumed.tensor] = op
        for site, ops in scaled.items():
            if site not in told and ops.keys() == clipped.keys():
                told.add(site)
                first = next(iter(ops))
                yield ScaledAfterClipping(step, clipped[first], ops[first], tuple(ops), summed)


def _clipped(analysis: Analysis, consumed: Consumed, since: int, clipping: Collection[int]) -> GradRead | None:
    """The one read of a gradient by clipping, behind the last backward; None where it is clipped more often."""
    if not consumed.contributions:
        return None
    reads = analysis.timeline.reads_of(consumed.tensor).within(since + 1, consumed.step.at)
    # Clipping by its norm reads each gradient more than once.
    mine = {read.site: read for read in reads if read.site in clipping and read.gradient >= 0}
    read = next(iter(mine.values()), None)
    return read if len(mine) == 1 and read is not None and read.at >= consumed.contributions[-1].end else None


def _scaled(analysis: Analysis, consumed: Consumed, read: GradRead, clipping: Collection[int]) -> Iterator[Op]:
    """The ops that multiply a clipped gradient by one number, which is not 1."""
    for op in consumed.contributions[-1].rewrites:
        numbers = analysis.capture.given.get(op.index, {}).values()
        if (
            op.index >= read.at
            and op.site not in clipping
            and is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES)
            and len(op.inputs) == len(op.writes)
            and 1.0 not in numbers
        ):
            yield op
