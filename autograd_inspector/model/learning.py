"""What one training step did for each parameter: whether it got a gradient, and whether it moved."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Standing = Literal["learns", "frozen", "not in the optimizer", "not in the model"]
GradientKind = Literal["none", "zero", "not finite", "unread", "some"]
"""``unread``: a gradient without values to read, on meta."""


class Learning(Struct, frozen=True):
    """One parameter; ``names`` are several when it is tied.

    ``standing``: "learns" is what requires grad and sits in the optimizer, so what is trainable.
    ``late``: only the second step gave it a gradient other than zero (LoRA's A, while B is zero).
    """

    names: tuple[str, ...]
    standing: Standing
    gradient: GradientKind
    moved: bool
    rate: float | None = None
    """The learning rate of its group."""
    late: bool = False

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]

    @property
    def meant(self) -> bool:
        """Whether it is trainable."""
        return self.standing == "learns"

    @property
    def ok(self) -> bool:
        """Whether it got a gradient that says something, and moved."""
        return self.gradient == "some" and self.moved

    @property
    def why(self) -> str:
        """What is wrong with it, "" when nothing is."""
        descriptions = {
            "none": "got no gradient",
            "zero": "got a gradient of exactly zero",
            "not finite": "got a gradient with NaN or Inf",
            "unread": "is on meta, which has no data",
        }
        if self.gradient != "some":
            return descriptions[self.gradient]
        if self.moved:
            return ""
        return "did not move: its group's lr is 0" if self.rate == 0 else "got a gradient and did not move"
