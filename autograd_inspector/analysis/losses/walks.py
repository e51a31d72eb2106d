"""Back from a term of a loss to what a network computed: through what rescales, selects, adds up and reshapes it."""

from __future__ import annotations

from typing import Final

from autograd_inspector.analysis.op_kinds import OpKind, is_a

_LIGHT: Final = (
    OpKind.VIEWS | OpKind.CONVERTS | OpKind.STACKS | OpKind.CONCATENATES | OpKind.COPIES
    | OpKind.ADDS | OpKind.SUBTRACTS | OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.NEGATES | OpKind.CLAMPS
    | OpKind.REDUCES | OpKind.SETS_NUMBER | OpKind.SELECTS | OpKind.LIKELIHOOD
)  # fmt: skip


def is_light(name: str) -> bool:
    """Whether a call only makes another number of the numbers that it is given, or picks some of them."""
    return is_a(name, _LIGHT)
