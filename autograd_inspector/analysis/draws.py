"""Which ops draw random numbers."""

from __future__ import annotations

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_DRAWS = OpKind.RANDOM | OpKind.DRAWS


def draws(op: Op) -> bool:
    """Whether the op drew random numbers; a dropout in eval mode draws none."""
    return op.has(Trait.DRAWS) or is_a(op.name, _DRAWS)
