"""A training step with and without the inspector."""

from __future__ import annotations

import autograd_inspector

from .clock import Timing, Work, interleaved, seconds, timed
from .display import Aim, Row, Section, milliseconds, progress
from .workloads import Subject, training_step

AIM = 0.05
PLAIN, AGAIN = "plain step", "plain step again: the noise"
BLOCK, STATEMENT = "with inspect(): the step", "with inspect(): entry, step and report"


def measure(subject: Subject, twin: Subject, *, quick: bool) -> Section:
    """Forward, backward and step: plain, inside the block, and the whole ``with`` statement.

    A step is milliseconds of observing in a second of arithmetic, which is less than a busy machine's noise. So the
    ``twin``, the same program on narrow tensors, tells what observing adds: the same calls at hardly any arithmetic.
    """
    rounds = 5 if quick else 11
    progress(f"training steps of {subject.name}, {rounds} rounds")
    timings = interleaved(_works(subject), rounds)
    progress(f"training steps of its narrow twin, {3 * rounds} rounds")
    narrow = interleaved(_works(twin), 3 * rounds)
    floor = timings[PLAIN]
    noise = abs(timings[AGAIN].typical(floor) - 1)
    rows = []
    for name, timing in timings.items():
        ratio = timing.typical(floor)
        met = True if ratio <= 1 + AIM else None if ratio - 1 <= AIM + noise else False
        aim = Aim(f"median within {AIM:.0%} of plain", met) if name == BLOCK else None
        rows.append(Row(name, timing.times(floor), ratio, milliseconds(timing.best), aim))
    for name in (BLOCK, STATEMENT):
        added = _added(narrow, name)
        aim = Aim(f"within {AIM:.0%} of plain", added <= AIM * floor.best) if name == BLOCK else None
        figure = f"{milliseconds(added)} added"
        rows.append(Row(f"{name}, by the twin", 1 + added / floor.best, None, figure, aim))
    return Section(f"Forward + backward + step of {subject.name}", PLAIN, tuple(rows))


def _works(subject: Subject) -> dict[str, Work]:
    step = training_step(subject)

    def inside() -> float:
        with autograd_inspector.inspect():
            return seconds(step)

    def whole() -> None:
        with autograd_inspector.inspect():
            step()

    return {PLAIN: timed(step), BLOCK: inside, AGAIN: timed(step), STATEMENT: timed(whole)}


def _added(timings: dict[str, Timing], name: str) -> float:
    return timings[name].best - timings[PLAIN].best
