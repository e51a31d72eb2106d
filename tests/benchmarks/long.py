"""Long runs under one capture: what ten thousand steps leave in memory, and what a late step costs."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import autograd_inspector

from .clock import Work, interleaved, seconds
from .display import Aim, Row, Section, milliseconds, progress
from .workloads import Subject, training_step

MEMORY_AIM = 4e6
"""Bytes that the process may grow by in the second half of the run. In the first the bounded tables fill."""
TIME_AIM = 0.05
_STATM = Path("/proc/self/statm")


class Held(NamedTuple):
    """At some step: bytes of the process, and records that the open capture holds."""

    rss: int
    records: int


def memory(*, quick: bool) -> Section:
    """A tiny model, ten thousand steps: the process at half of them and at the end, with and without a capture."""
    steps = 1_000 if quick else 10_000
    progress(f"{steps:,} steps of a tiny model")
    plain_early, plain_late = _run(steps, observed=False)
    progress(f"{steps:,} steps of a tiny model in one capture")
    early, late = _run(steps, observed=True)
    grown, floor = late.rss - early.rss, plain_late.rss - plain_early.rss
    places = f"from step {steps // 2:,} to step {steps:,}"
    return Section(
        f"Memory of {steps:,} steps of a tiny model",
        "the plain loop",
        (
            Row(f"plain loop: growth {places}", None, None, _megabytes(floor)),
            Row(
                f"in one capture: growth {places}",
                None,
                None,
                _megabytes(grown),
                Aim(f"under {_megabytes(MEMORY_AIM)}", grown - floor < MEMORY_AIM if _STATM.exists() else None),
            ),
            Row(
                "in one capture: records held",
                late.records / early.records,
                None,
                f"{early.records:,} at half, {late.records:,} at the end",
                Aim("as many", late.records == early.records),
            ),
        ),
    )


def _run(steps: int, *, observed: bool) -> tuple[Held, Held]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer, x = torch.optim.Adam(net.parameters()), torch.randn(16, 8)
    inspection = autograd_inspector.inspect()
    held = []
    if observed:
        inspection.__enter__()
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()
        if step in {steps // 2, steps}:
            gc.collect()
            held.append(Held(_rss(), inspection._session.recording.kept_records()))
    if observed:
        inspection.__exit__(None, None, None)
        assert inspection.report.history.steps == steps
    return held[0], held[1]


def _rss() -> int:
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if _STATM.exists() else 0


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def overhead(subject: Subject, twin: Subject, *, quick: bool) -> Section:
    """A step that comes late in a capture of many, folding included, against a plain step of the same model.

    What observing adds is told by the ``twin``, as for a single step: see training.measure.
    """
    rounds, steps = (3, 8) if quick else (7, 20)
    before = 20
    progress(f"steps {before} and later of one capture: {twin.name}, {rounds} rounds of {steps}")
    step, wide = training_step(twin), training_step(subject)
    plain, late = "plain step", "a late step in one capture"

    def inside() -> float:
        with autograd_inspector.inspect():
            for _ in range(before):
                step()
            return _each(step, steps)

    works: dict[str, Work] = {plain: lambda: _each(step, steps), late: inside}
    timings = interleaved(works, rounds)
    floor = interleaved({plain: lambda: seconds(wide)}, 5)[plain]
    added = timings[late].best - timings[plain].best
    rows = (
        Row(plain, 1.0, 1.0, milliseconds(floor.best)),
        Row(
            f"{late}, by the twin",
            1 + added / floor.best,
            None,
            f"{milliseconds(added)} added",
            Aim(f"within {TIME_AIM:.0%} of plain", added <= TIME_AIM * floor.best),
        ),
    )
    return Section(f"Long runs: a step of {subject.name}", plain, rows)


def _each(step, count: int) -> float:
    return seconds(lambda: [step() for _ in range(count)]) / count
