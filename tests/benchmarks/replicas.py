"""A training step under DistributedDataParallel on two gloo ranks, with and without a capture around it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import autograd_inspector

from .clock import Timing, Work, interleaved, seconds
from .display import Aim, Row, Section, milliseconds, progress
from .workloads import Subject, training_step

PLAIN, EACH = "plain steps", "steps in a capture"
AIM = 1.1
_STEPS = 5


def measure(subject: Subject, *, quick: bool) -> Section:
    """CPU time of rank 0's own thread: waiting for the other rank costs none of it."""
    rounds = 4 if quick else 9
    progress(f"{_STEPS} steps of {subject.name} under DistributedDataParallel on two ranks, {rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            _timings(subject, rounds, 1, folder)
            os._exit(0)
        timings = _timings(subject, rounds, 0, folder)
        os.waitpid(child, 0)
    floor = timings[PLAIN]
    rows = []
    for name, timing in timings.items():
        ratio = timing.times(floor)
        aim = Aim(f"at most {AIM} times", ratio <= AIM) if name == EACH else None
        rows.append(Row(name, ratio, timing.typical(floor), f"{milliseconds(timing.best / _STEPS)} a step", aim))
    return Section(f"A step of {subject.name} under DistributedDataParallel on two gloo ranks", PLAIN, tuple(rows))


def _timings(subject: Subject, rounds: int, rank: int, folder: str) -> dict[str, Timing]:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(rank)
    step = training_step(Subject(subject.name, DistributedDataParallel(subject.module), subject.example))

    def plain() -> float:
        return seconds(lambda: _several(step))

    def inside() -> float:
        with autograd_inspector.inspect():
            return seconds(lambda: _several(step))

    works: dict[str, Work] = {PLAIN: plain, EACH: inside}
    timings = interleaved(works, rounds)
    dist.destroy_process_group()
    return timings


def _several(step: Callable[[], None]) -> None:
    for _ in range(_STEPS):
        step()
