"""What recording costs where torch counts no versions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch

import autograd_inspector

from .clock import Work, interleaved, seconds
from .display import Aim, Row, Section, microseconds, progress
from .workloads import chain

AIM = 1.5


def measure(*, quick: bool) -> Section:
    """The same ops under no_grad and in inference mode, recorded."""
    length, rounds = (2_000, 5) if quick else (10_000, 9)
    subject = chain(length)
    progress(f"recording {subject.name} without gradients, {rounds} rounds")

    def under(mode: Callable[[], AbstractContextManager[object]]) -> Work:
        def work() -> float:
            with autograd_inspector.inspect(), mode():
                return seconds(subject.forward)

        return work

    floor, inference = "inspect() under no_grad", "inspect() in inference mode"
    timings = interleaved({floor: under(torch.no_grad), inference: under(torch.inference_mode)}, rounds)
    rows = []
    for name, timing in timings.items():
        times = timing.times(timings[floor])
        aim = Aim(f"under {AIM} times", times < AIM) if name == inference else None
        figure = f"{microseconds(timing.best / length)} an op"
        rows.append(Row(name, times, timing.typical(timings[floor]), figure, aim))
    return Section(f"Recording {subject.name} without gradients", floor, tuple(rows))
