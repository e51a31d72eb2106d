"""A compiled training step with and without the inspector, which runs each graph a second time, without data."""

from __future__ import annotations

import torch
import torch._dynamo

import autograd_inspector

from .clock import Work, interleaved, seconds, timed
from .display import Row, Section, milliseconds, progress
from .workloads import Subject, training_step

PLAIN, BLOCK = "plain step", "with inspect(): the step"


def measure(subject: Subject, backend: str, *, quick: bool) -> Section:
    """Forward, backward and step of a model that ``torch.compile`` made, plain and inside the block."""
    rounds = 5 if quick else 11
    progress(f"compiled training steps of {subject.name}, {backend}, {rounds} rounds")
    torch._dynamo.reset()
    step = training_step(subject._replace(module=torch.compile(subject.module, backend=backend)))
    for _ in range(2):
        step()  # Compiles it, and makes the state of the optimizer.

    def inside() -> float:
        with autograd_inspector.inspect():
            return seconds(step)

    works: dict[str, Work] = {PLAIN: timed(step), BLOCK: inside}
    timings = interleaved(works, rounds)
    floor = timings[PLAIN]
    rows = [
        Row(name, timing.times(floor), timing.typical(floor), milliseconds(timing.best), None)
        for name, timing in timings.items()
    ]
    return Section(f"Compiled forward + backward + step of {subject.name}, {backend}", PLAIN, tuple(rows))
