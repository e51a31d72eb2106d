"""A compiled training step with and without the inspector, which runs each graph a second time, without data."""

from __future__ import annotations

from unittest import mock

import torch
import torch._dynamo

import autograd_inspector
from autograd_inspector.capture.observers.compiled.calls import Compiled

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


WITHOUT, WITH = "with inspect(), compiled code not observed", "with inspect(): compiled code observed"


def idle(subject: Subject, *, quick: bool) -> Section:
    """Steps of a model that nothing compiles, inside the block, with and without what observes compiled code."""
    rounds = 9 if quick else 21
    progress(f"steps of {subject.name}, nothing compiled, {rounds} rounds")
    step = training_step(subject)
    step()

    def inside() -> float:
        with autograd_inspector.inspect():
            return seconds(step)

    def unobserved() -> float:
        with mock.patch.object(Compiled, "install", return_value=None):
            return inside()

    timings = interleaved({WITHOUT: unobserved, WITH: inside}, rounds)
    floor = timings[WITHOUT]
    rows = [
        Row(name, timing.times(floor), timing.typical(floor), milliseconds(timing.best), None)
        for name, timing in timings.items()
    ]
    return Section(f"Forward + backward + step of {subject.name}, nothing compiled", WITHOUT, tuple(rows))
