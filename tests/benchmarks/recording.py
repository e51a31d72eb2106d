"""What recording adds to one op."""

from __future__ import annotations

from torch.overrides import BaseTorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import autograd_inspector

from .clock import Work, interleaved, seconds
from .display import Aim, Row, Section, microseconds, progress
from .machine import BARE
from .workloads import chain

AIM = 8e-6


class BareDispatchMode(TorchDispatchMode):
    """The least that an observer of dispatched ops can do."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def measure(*, quick: bool) -> Section:
    """The same ops under nothing, under a mode that only passes them on, and recorded."""
    length, rounds = (2_000, 5) if quick else (10_000, 9)
    subject = chain(length)
    progress(f"recording {subject.name}, {rounds} rounds")

    def under(observer) -> Work:
        def work() -> float:
            with observer():
                return seconds(subject.forward)

        return work

    plain, function, dispatch, inspect = "plain torch", "bare TorchFunctionMode", "bare TorchDispatchMode", "inspect()"
    timings = interleaved(
        {
            plain: lambda: seconds(subject.forward),
            function: under(BaseTorchFunctionMode),
            dispatch: under(BareDispatchMode),
            inspect: under(autograd_inspector.inspect),
        },
        rounds,
    )
    floor = timings[function]
    added = {name: (timing.best - timings[plain].best) / length for name, timing in timings.items()}
    rows = []
    for name, timing in timings.items():
        figure = f"{microseconds(timing.best / length)}, {microseconds(added[name])} added"
        aim = Aim(f"adds under {microseconds(AIM)} an op", added[name] < AIM) if name == inspect else None
        rows.append(Row(name, timing.times(floor), timing.typical(floor), figure, aim))
    recorded, passed = added[inspect], added[function]
    times = f"{recorded / passed:.1f} times the bare function mode, {recorded / added[dispatch]:.1f} the dispatch mode"
    here, scaled = microseconds(passed), microseconds(recorded / passed * BARE)
    notes = (
        f"What is added: {times}.",
        f"Where the aim was set the bare function mode adds {microseconds(BARE)}, here {here}. Scaled: {scaled}.",
    )
    return Section(f"Recording {subject.name}, per op", function, tuple(rows), notes)
