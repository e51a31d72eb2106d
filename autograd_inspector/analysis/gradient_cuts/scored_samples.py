"""Samples whose own probability the loss is computed with: ``log_prob(sample)`` trains what they were drawn from."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.gradient_cuts.classifier import SAMPLING
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait


class ScoredSamples:
    """Asked of each draw of a capture: the ops of ``sample()`` calls are looked up once."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves
        regions = leaves.capture.regions
        self._sampling: dict[int, list[Op]] = {r.id: [] for r in regions if r.library.startswith(SAMPLING)}
        for op in leaves.capture.ops if self._sampling else ():
            if op.region in self._sampling:
                self._sampling[op.region].append(op)

    def scored(self, draw: Op, hidden: Collection[int], end: int) -> bool:
        """Whether the sample meets, before the op ``end``, what it was drawn from, as in ``log_prob(sample)``.

        It does where one op reads the sample, or what was computed of it and of that distribution alone, and what the
        hidden parameters lead to: a log probability subtracts the mean first, and divides by the variance then.
        """
        capture, leaves = self._leaves.capture, self._leaves
        within = self._sampling.get(draw.region) or ([draw] if is_a(draw.name, OpKind.DRAWS) else [])
        if not within:
            return False
        drawing = {op.index for op in within}
        drawn = {t for op in within for t in op.outputs}
        distribution = {t for op in within for t in leaves.above(op)}
        for op in capture.ops[within[0].index : end]:
            if op.index in drawing or op.has(Trait.STEP) or drawn.isdisjoint(op.inputs):
                continue
            others = {
                leaf
                for t in op.inputs
                if t not in drawn and capture.tensors[t].requires_grad
                for leaf in leaves.of(t, op.index)
            }
            if not others.isdisjoint(hidden):
                return True
            if others <= distribution:
                drawn.update(op.outputs)
        return False
