"""How fast Python is here, beside the machine for which the aims were set."""

from __future__ import annotations

from functools import cache

from torch.overrides import BaseTorchFunctionMode

from .clock import interleaved, seconds
from .workloads import chain

BARE = 1.2e-6
"""Seconds that the bare function mode added to an op there."""
LENGTH, ROUNDS = 2_000, 5


@cache
def slower() -> float:
    """How many times as long Python takes here: by what the bare function mode adds to an op."""
    subject = chain(LENGTH)

    def observed() -> float:
        with BaseTorchFunctionMode():
            return seconds(subject.forward)

    plain, bare = "plain torch", "bare TorchFunctionMode"
    timings = interleaved({plain: lambda: seconds(subject.forward), bare: observed}, ROUNDS)
    return (timings[bare].best - timings[plain].best) / LENGTH / BARE
