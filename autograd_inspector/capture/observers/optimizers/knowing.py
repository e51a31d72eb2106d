"""What steps and loads need of whoever knows the optimizers."""

from __future__ import annotations

from typing import Protocol

from torch.optim import Optimizer


class KnownOptimizers(Protocol):
    """The optimizers of the capture, by number, and the looks at what they hold."""

    def id_of(self, optimizer: Optimizer) -> int:
        """The number of an optimizer, met now if never before."""

    def alive(self) -> list[tuple[int, Optimizer]]:
        """Those that the program still holds."""

    def changed(self, optimizer: Optimizer, number: int) -> None:
        """What the optimizer holds is no longer what was read."""

    def changed_since(self, optimizer: Optimizer, number: int) -> None:
        """Before a step: look at what may have moved since the last look."""

    def look(self, optimizer: Optimizer, number: int) -> None:
        """Read the placement again if it may have changed since the last look."""

    def snapshot(self, optimizer: Optimizer, number: int) -> None:
        """Read where its parameters, gradients and state live now."""
