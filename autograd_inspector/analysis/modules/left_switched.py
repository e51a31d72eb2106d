"""Attributes of modules that were switched, and since when parameters of these get no gradient any more.

The parameters got one in every round until then, and get none in any since. In between, an attribute of a module that
has them was met with another value, and it keeps that.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.stopped import rounds_of, stopped_since
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.training_modes import within
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.program_events import AttributeSwitched, ModeSwitched


class LeftSwitched(Struct, frozen=True):
    """``event`` came between the rounds that trained ``tensors`` and ``run``, the first that does not.

    ``for_a_look``: an evaluation met it first, and is the first one that there was, or found it so every time.
    ``resumed``: where the program put the model back into train mode in between.
    """

    event: AttributeSwitched
    tensors: tuple[int, ...]
    run: Backward
    resumed: ModeSwitched | None

    @property
    def for_a_look(self) -> bool:
        """Whether it was switched for an evaluation: none before had met the other value."""
        return self.event.looks and not self.event.looked


def left_switched(analysis: Analysis) -> Iterator[LeftSwitched]:
    """Each attribute once."""
    capture = analysis.capture
    switches = _kept(capture.events_of(AttributeSwitched))
    told: set[AttributeSwitched] = set()
    for optimizer in sorted({step.optimizer for step in capture.steps}) if switches else ():
        for rounds, since, tensors in stopped_since(capture, rounds_of(capture, optimizer)):
            for event in switches:
                run = rounds[0][-1]
                mine = tuple(t for t in sorted(tensors) if _has(analysis, event, t)) if event not in told else ()
                if mine and since <= event.at <= run.start:
                    told.add(event)
                    yield LeftSwitched(event, mine, run, _resumed(analysis, event, run))


def _kept(events: tuple[AttributeSwitched, ...]) -> list[AttributeSwitched]:
    """The changes that were not taken back: of each attribute the only one."""
    last = [
        changes[-1]
        for changes in grouped(events, lambda event: (event.model, event.path, event.name)).values()
        if changes[-1].after != changes[0].before
    ]
    return sorted(last, key=lambda event: event.at)


def _has(analysis: Analysis, event: AttributeSwitched, tensor: int) -> bool:
    """Whether a parameter is the module's, or of what it has."""
    capture, prefix = analysis.capture, f"{event.path}." if event.path else ""
    own = capture.owners.get(tensor, -1) == event.model
    return own and any(name.startswith(prefix) for name in capture.tensors[tensor].names)


def _resumed(analysis: Analysis, event: AttributeSwitched, run: Backward) -> ModeSwitched | None:
    """The last switch of the module, or of what it is in, to train mode before a run."""
    modes = [
        mode
        for mode in analysis.capture.events_of(ModeSwitched)
        if mode.training
        and mode.model == event.model
        and event.at <= mode.at <= run.start
        and within(event.path, mode.path)
    ]
    return modes[-1] if modes else None
