"""Gradients that are scaled after each of the backwards that one step uses together."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clipping_sites import clipping_sites
from autograd_inspector.analysis.gradients.sources import Consumed, GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op


def scaled_with_each_backward(
    analysis: Analysis, sources: GradientSources
) -> Iterator[tuple[Step, list[Op], list[int]]]:
    """(step, the ops of one line that scale, the parameters), the first time for each line."""
    clipping = clipping_sites(analysis)
    told: set[int] = set()
    for step in analysis.capture.steps:
        found: dict[int, tuple[list[Op], list[int]]] = {}
        for consumed in () if step.error else sources.of(step):
            for site, ops in _repeated(consumed).items():
                if site not in clipping:
                    found.setdefault(site, (ops, []))[1].append(consumed.tensor)
        for site, (ops, tensors) in found.items():
            if site not in told:
                told.add(site)
                yield step, ops, tensors


def _repeated(consumed: Consumed) -> dict[int, list[Op]]:
    """Site -> its ops that scaled the sum, each after another backward."""
    scaled: dict[int, list[Op]] = {}
    for contribution in consumed.contributions:
        for site, op in {op.site: op for op in contribution.rewrites if _scales(op)}.items():
            scaled.setdefault(site, []).append(op)
    return {site: ops for site, ops in scaled.items() if len(ops) > 1}


def _scales(op: Op) -> bool:
    """Whether it does so by a number: a mask may be laid over a gradient any number of times."""
    return is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES) and len(op.inputs) == len(op.writes)
