"""Accumulated gradients that are scaled after each backward(): the sum so far is scaled again, and not the new part."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op

_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES


class ScaledSum(Struct, frozen=True):
    """``op`` is the last of ``times`` that one line scaled the gradients of ``tensors`` by a number before ``step``."""

    op: Op
    times: int
    step: Step
    tensors: tuple[int, ...]


def scaled_sums(analysis: Analysis, sources: GradientSources) -> Iterator[ScaledSum]:
    """The first for each line that scales, where it did so after each of several backwards of one step."""
    told: set[int] = set()
    for step in analysis.capture.steps:
        found: dict[int, tuple[Op, int, list[int]]] = {}
        for consumed in () if step.error else sources.of(step):
            op = _scaled_each_time(consumed)
            if op is not None and op.site not in told:
                found.setdefault(op.site, (op, len(consumed.contributions), []))[2].append(consumed.tensor)
        for site, (op, times, tensors) in found.items():
            told.add(site)
            yield ScaledSum(op, times, step, tuple(tensors))


def _scaled_each_time(consumed: Consumed) -> Op | None:
    """What scaled the sum by a number after each contribution, and once each, all of it on one line."""
    scales = [
        [op for op in contribution.rewrites if is_a(op.name, _SCALES) and len(op.inputs) == len(op.writes)]
        for contribution in consumed.contributions
    ]
    if len(scales) < 2 or not all(scales):
        return None
    sites = {op.site for ops in scales for op in ops}
    return scales[-1][-1] if len(sites) == 1 else None
