"""Parameters that an optimizer holds and never moves, frozen as they are: what speaks for it that they were to learn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.modules.removed_adapters import RemovedAdapters, by_library, removed_adapters
from autograd_inspector.analysis.parameters.unoptimized import path_in_model
from autograd_inspector.model.event import RequiresGradChanged
from autograd_inspector.model.placement_rows import OptimizerRecord

Reason = Literal["since", "state", "twin", "adapters", "library"]
_Frozen = tuple[object, str, tuple[int, ...] | None]
"""(line that froze it, path in its model, shape)."""


class SetAside(Struct, frozen=True):
    """Parameters at rest in an optimizer that moves others; ``thawed``: where the twin of the first of them was thawed.

    ``reason``: they required grad when it was made ("since"), it has loaded state of theirs ("state"), the line that
    froze them froze the same of another model, which was thawed later ("twin"), or installed code froze them
    ("library"), as well for adapters that are no longer there ("adapters").
    """

    optimizer: OptimizerRecord
    reason: Reason
    tensors: tuple[int, ...]
    thawed: int = -1
    adapters: RemovedAdapters | None = None


def rests(analysis: Analysis, tensor: int, steps: list[int]) -> bool:
    """Whether it was frozen at each of those steps, was never seen to be thawed, and got no gradient."""
    return (
        not analysis.lifecycle.unfrozen([tensor])
        and tensor not in analysis.received_gradient
        and not any(analysis.lifecycle.requires_grad_at(tensor, at) for at in steps)
    )


def set_aside(analysis: Analysis) -> Iterator[SetAside]:
    """One record for each optimizer and reason."""
    reasons = _Reasons(analysis)
    for optimizer in analysis.capture.placement.optimizers:
        moments = [step.at for step in analysis.timeline.steps_of(optimizer.id).all]
        held = dict.fromkeys(optimizer.held)
        resting = [tensor for tensor in held if moments and rests(analysis, tensor, moments)]
        if len(resting) == len(held):
            continue
        by_reason: dict[Reason, list[int]] = {}
        for tensor in resting:
            reason = reasons.of(optimizer, tensor)
            if reason is not None:
                by_reason.setdefault(reason, []).append(tensor)
        for reason, tensors in by_reason.items():
            thawed = reasons.twin_thawed(tensors[0]) if reason == "twin" else None
            adapters = reasons.adapters(optimizer) if reason == "adapters" else None
            yield SetAside(optimizer, reason, tuple(tensors), -1 if thawed is None else thawed.site, adapters)


class _Reasons:
    """What was seen of parameters that are frozen now."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture
        self._adapters: dict[int, RemovedAdapters | None] = {}

    def of(self, optimizer: OptimizerRecord, tensor: int) -> Reason | None:
        """Why a parameter seems to be meant to learn; None: nothing speaks for it, or it was never seen to be frozen."""
        frozen = self._analysis.lifecycle.frozen([tensor])
        if not frozen:
            return None
        if 0 <= optimizer.created_at < frozen[-1].at:
            return "since"
        if (optimizer.id, tensor) in self._with_state and self._analysis.timeline.loads_of(optimizer.id).all:
            return "state"
        if self.twin_thawed(tensor) is not None:
            return "twin"
        if not by_library(self._analysis, frozen[-1].site):
            return None
        adapters = self.adapters(optimizer)
        called = line_of(self._analysis, frozen[-1].site)
        return "adapters" if adapters is not None and called in adapters.lines else "library"

    def adapters(self, optimizer: OptimizerRecord) -> RemovedAdapters | None:
        """Those that were gone when it was made."""
        if optimizer.id not in self._adapters:
            self._adapters[optimizer.id] = removed_adapters(self._analysis, optimizer)
        return self._adapters[optimizer.id]

    def twin_thawed(self, tensor: int) -> RequiresGradChanged | None:
        """The thawing of what the same line had frozen, before, at the same place of another model."""
        mine = self._analysis.lifecycle.frozen([tensor])[-1]
        twins = self._thawed.get(self._key(mine), ())
        return next((thawed for thawed in twins if thawed.tensor != tensor and thawed.at <= mine.at), None)

    def _key(self, change: RequiresGradChanged) -> _Frozen:
        shape = self._capture.tensors[change.tensor].shape
        return line_of(self._analysis, change.site), path_in_model(self._capture, change.tensor), shape

    @cached_property
    def _thawed(self) -> dict[_Frozen, list[RequiresGradChanged]]:
        """How it was frozen -> each time that it was thawed after that."""
        thawed: dict[_Frozen, list[RequiresGradChanged]] = {}
        frozen: dict[int, RequiresGradChanged] = {}
        for change in self._capture.requires_grad_changes:
            if not change.requires_grad:
                frozen[change.tensor] = change
            elif change.tensor in frozen:
                thawed.setdefault(self._key(frozen[change.tensor]), []).append(change)
        return thawed

    @cached_property
    def _with_state(self) -> frozenset[tuple[int, int]]:
        return frozenset((row.optimizer, row.tensor) for row in self._capture.placement.rows if row.state)
