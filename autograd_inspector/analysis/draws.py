"""Which ops draw random numbers."""

from __future__ import annotations

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_WITHOUT_VALUES = frozenset(
    {"rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "gumbel_softmax"}
)
"""Beside the draws that autograd meets: these take no values."""


def draws(op: Op) -> bool:
    """Whether the op drew random numbers; a dropout in eval mode draws none."""
    return op.has(Trait.DRAWS) or op.name in _WITHOUT_VALUES or is_a(op.name, OpKind.DRAWS)
