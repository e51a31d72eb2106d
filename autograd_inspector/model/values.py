"""What the values of tensors were, where the user opted into reading them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SATURATING = frozenset(
    {
        "relu", "relu_", "clamp", "clamp_", "hardtanh", "relu6", "sigmoid", "tanh", "softmax", "log_softmax",
        "hardsigmoid", "clip", "erf", "threshold", "maximum", "minimum",
    }
)  # fmt: skip
"""Ops whose derivative is zero in places only: what goes in has the blame."""


class Range(Struct, frozen=True, omit_defaults=True, gc=False):
    """Values of one tensor: smallest and largest finite one, how many NaN and infinite."""

    tensor: int
    low: float
    high: float
    nan: int = 0
    inf: int = 0

    @property
    def finite(self) -> bool:
        """Neither NaN nor infinity is among them."""
        return not (self.nan or self.inf)

    @property
    def size(self) -> float:
        """The largest finite magnitude."""
        return max(abs(self.low), abs(self.high))

    def __str__(self) -> str:
        bad = [f"{count} {what}" for count, what in ((self.nan, "NaN"), (self.inf, "Inf")) if count]
        return f"{self.low:.3g} to {self.high:.3g}" + (f", {' and '.join(bad)}" if bad else "")


class ValueFault(Struct, frozen=True, omit_defaults=True):
    """An op whose results are not finite while its inputs are. ``op`` -1: it came that way to ``met_by``.

    ``weights``: where the inputs are large, the values of the parameter that has the largest then, if any.
    """

    op: int
    outputs: tuple[Range, ...]
    inputs: tuple[Range, ...] = ()
    met_by: int = -1
    weights: tuple[Range, ...] = ()


MOST_FAULTS = 256
"""Of a capture so many are kept."""


class GradientFault(Struct, frozen=True, omit_defaults=True, gc=False):
    """A node that was given a sound gradient and passed on a bad one: not finite, or nothing but zeros.

    "hooked": it was given zeros where other nodes had passed on something else. ``ranges``: the values of its op's
    tensors, as far as they could be read, where it passed on zeros. ``spared``: the places of the node's edges that got
    something else there.
    """

    backward: int
    node: int
    kind: Literal["nonfinite", "zero", "hooked"]
    ranges: tuple[Range, ...] = ()
    spared: tuple[int, ...] = ()


class LeafValues(Struct, frozen=True, omit_defaults=True, gc=False):
    """A leaf's gradient after one backward: ``zero`` all of it, or some of it not finite.

    ``norm`` is its 2-norm, added up in float32 at least; -1 where it is not finite, or has no values to read.
    """

    backward: int
    tensor: int
    zero: bool
    nonfinite: bool
    norm: float = -1.0
