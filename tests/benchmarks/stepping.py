"""Training steps as the trainers' callbacks inspect them: each of them, or as many as a budget allows."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable

from autograd_inspector.integrations.options import Options
from autograd_inspector.integrations.stepwise import Stepwise

from .clock import Timing, Work, interleaved, seconds
from .display import Aim, Row, Section, milliseconds, progress
from .workloads import Subject, training_step

PLAIN, EACH, AUTO = "plain loop", "each step captured (failing=True)", 'every="auto", 3 %'
VITALS, SAMPLED = "each step captured, with vitals", 'every="auto", 3 %, with vitals'
AIMS = {EACH: 1.4, AUTO: 1.03, SAMPLED: 1.03}


def measure(twin: Subject, *, quick: bool) -> Section:
    """A loop of many steps on narrow tensors, where what observing adds is the largest part that it can be.

    The first two steps are always captured: a budget is kept once the loop is long enough for it to cover them.
    """
    rounds, steps, many = (2, 150, 400) if quick else (3, 400, 1_200)
    progress(f"{steps} steps of {twin.name} on narrow tensors, as callbacks inspect them, {rounds} rounds")
    logging.getLogger("autograd_inspector").setLevel(logging.ERROR)
    step = training_step(twin)
    sampled: Options = {"vitals": True, "every": "auto", "formats": ()}
    works: dict[str, Work] = {
        PLAIN: lambda: seconds(lambda: [step() for _ in range(steps)]),
        EACH: lambda: seconds(lambda: _run(step, steps, twin, {"formats": ()})),
        AUTO: lambda: steps / many * seconds(lambda: _run(step, many, twin, {"every": "auto", "formats": ()})),
        VITALS: lambda: seconds(lambda: _run(step, steps, twin, {"vitals": True, "formats": ()})),
        SAMPLED: lambda: steps / many * seconds(lambda: _run(step, many, twin, sampled)),
    }
    timings = interleaved(works, rounds)
    floor = timings[PLAIN]
    return Section(
        f"{steps} steps of {twin.name} on narrow tensors, under a callback",
        PLAIN,
        tuple(_row(name, timing, floor, steps) for name, timing in timings.items()),
    )


def _row(name: str, timing: Timing, floor: Timing, steps: int) -> Row:
    ratio = timing.times(floor)
    aim = Aim(f"at most {AIMS[name]} times", ratio <= AIMS[name]) if name in AIMS else None
    return Row(name, ratio, timing.typical(floor), f"{milliseconds(timing.best / steps)} a step", aim)


def _run(step: Callable[[], None], count: int, subject: Subject, options: Options) -> None:
    inspector = Stepwise(lambda *_: None, options, told_of_rest=True)
    with tempfile.TemporaryDirectory() as folder:
        inspector.start(folder, main=True)
        for number in range(1, count + 1):
            inspector.begin(number, [subject.module], [])
            step()
            inspector.end()
        inspector.finish()
