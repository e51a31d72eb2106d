"""Timing that a noisy machine disturbs little.

CPU time of the one thread that torch is given, so what other processes take does not count; works take turns
(A B C A B C ...), so a drift of the machine meets all alike; the best round is the one least disturbed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple

import torch

Work = Callable[[], float]
"""Does something and returns the seconds that count, so that setting up and taking down do not."""


class Timing(NamedTuple):
    """Seconds of each round of one work."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.rounds)

    def times(self, floor: Timing) -> float:
        """How many times the floor's best round its own best took."""
        return self.best / floor.best

    def typical(self, floor: Timing) -> float:
        """Median of the ratios of neighbouring rounds; the last resort when the floor ran in other rounds."""
        if len(self.rounds) != len(floor.rounds):
            return median(self.rounds) / median(floor.rounds)
        return median(taken / base for taken, base in zip(self.rounds, floor.rounds, strict=True))


def seconds(call: Callable[[], object]) -> float:
    """CPU time of one call; what it returns is dropped outside the measured time.

    A CUDA device works beside the host: where one is used, wall time counts, until the device is done too.
    """
    beside = torch.cuda.is_initialized()
    clock = time.perf_counter if beside else time.thread_time
    started = clock()
    result = call()
    if beside:
        torch.cuda.synchronize()
    taken = clock() - started
    del result
    return taken


def timed(call: Callable[[], object]) -> Work:
    """A work that is one call, all of which counts."""
    return lambda: seconds(call)


def interleaved(works: Mapping[str, Work], rounds: int) -> dict[str, Timing]:
    """Each work once a round, after a round that warms up and does not count."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            gc.collect()  # What an earlier work left must not be collected on this one's time.
            spent = work()
            if number:
                taken[name].append(spent)
    return {name: Timing(tuple(rounds)) for name, rounds in taken.items()}
