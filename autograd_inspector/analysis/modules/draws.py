"""Which ops draw random numbers."""

from __future__ import annotations

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

_DRAW = frozenset({"rand", "randn", "rand_like", "randn_like", "randint", "randperm", "dropout"})
"""Beside the draws that autograd meets: these take no values, and a dropout may be a module's own."""


def draws(op: Op) -> bool:
    """Whether the op draws random numbers, as far as its name tells."""
    return op.name in _DRAW or is_a(op.name, OpKind.DRAWS)
