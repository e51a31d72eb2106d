"""Milliseconds of several rounds."""

from __future__ import annotations

from statistics import median, quantiles
from typing import NamedTuple


class Spread(NamedTuple):
    """What other work on the machine disturbs most is the worst of the rounds, least their best."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def middle(self) -> float:
        return median(self.rounds)

    @property
    def late(self) -> float:
        """The 95th percentile."""
        return quantiles(self.rounds, n=20)[-1]

    @property
    def worst(self) -> float:
        return max(self.rounds)
