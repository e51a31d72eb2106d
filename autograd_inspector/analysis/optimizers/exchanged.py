"""Parameters that a group of an optimizer held once, and that have another parameter in their place there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.parameters.unoptimized import Unoptimized, copied_from
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD


class Exchanged(Struct, frozen=True):
    """The group holds ``new`` in the place of ``old``, which the model still computes with.

    ``since`` is the first step with it; ``copied`` wrote the values of ``new`` into ``old``, None where nothing did.
    """

    old: int
    new: int
    since: Step
    copied: Op | None


def exchanged_in_groups(analysis: Analysis, loose: Unoptimized) -> Iterator[Exchanged]:
    """Of each parameter that an optimizer stepped and lost: the one that it met next at the same place of its group."""
    steps = analysis.timeline.steps_of(loose.optimizer.id).all
    left, orphans = set(loose.parameters), set(loose.orphans)
    for before, after in pairwise(steps):
        for old, new in _places(before, after):
            if old in left and new in orphans and _alike(analysis, old, new):
                yield Exchanged(old, new, after, _copied(analysis, old, new))


def _places(before: Step, after: Step) -> Iterator[tuple[int, int]]:
    """(parameter, what the next step met in its place) where no group became longer or shorter."""
    groups = [[each.group for each in step.parameters] for step in (before, after)]
    if groups[0] == groups[1]:
        yield from zip((p.tensor for p in before.parameters), (p.tensor for p in after.parameters), strict=True)


def _alike(analysis: Analysis, old: int, new: int) -> bool:
    tensors = analysis.capture.tensors
    return old != new and tensors[old].shape == tensors[new].shape


def _copied(analysis: Analysis, old: int, new: int) -> Op | None:
    """The first write of the program's own that brings the values of the one to the other."""
    tensors, first = analysis.capture.tensors, analysis.capture.tensors[new].first_use
    memory = frozenset({tensors[new].storage})
    writes = analysis.writes_to(tensors[old].storage, old, max(first, 0), len(analysis.capture.ops))
    mine = (op for op, _ in writes if not op.has(_ASIDE))
    return next((op for op in mine if copied_from(analysis.capture, op, memory, analysis.flow)), None)
