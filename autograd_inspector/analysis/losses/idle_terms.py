"""Terms of a loss that flat ops keep all gradient from: they have a value, and nothing learns from it."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.zero_derivative import behind_flat_ops
from autograd_inspector.analysis.losses.summands import summands_of
from autograd_inspector.model.op import Op


def idle_terms(analysis: Analysis, flat: Iterable[int]) -> dict[int, Op]:
    """Flat op -> the term of a loss that it decides, where other terms of the same sum have a gradient."""
    wanted = set(flat)
    found: dict[int, Op] = {}
    if not wanted:
        return found
    capture = analysis.capture
    # Of the nodes of one op the last one is what its result begins with.
    made = {node.op: node for node in sorted(capture.nodes, key=lambda node: node.seq) if node.op >= 0}
    for run in capture.completed_runs:
        terms = [
            capture.ops[index] for root in run.roots for _, index in sorted(summands_of(analysis, root, run.start))
        ]
        idle = [op for op in terms if op.index in made and behind_flat_ops(capture, made[op.index])]
        if len(idle) < len(terms):
            for term in idle:
                above = analysis.flow.upstream((tensor, term.index) for tensor in term.inputs)
                found.update({op.index: term for op, _ in above if op.index in wanted})
    return found
