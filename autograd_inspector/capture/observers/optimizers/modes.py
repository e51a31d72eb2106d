"""The mode of schedule-free optimizers, as their groups have it: which of two sets of weights the model has."""

from __future__ import annotations

import weakref
from collections.abc import Collection

from torch.optim import Optimizer

from autograd_inspector.capture.lines.attributes import looked_up
from autograd_inspector.capture.observers.optimizers.groups import groups_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import OptimizerModeMet

_METHODS = ("train", "eval")


class Modes:
    """Looks at the mode when a model is called or saved, and before steps: what changes it is no torch call."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._met: dict[int, tuple[weakref.ref[Optimizer], bool]] = {}
        """Optimizers that have such a mode, with the one of the last look."""

    def look(self) -> None:
        """Note what has been switched since the last look."""
        for number, (ref, _) in list(self._met.items()) if self._met else ():
            optimizer = ref()
            if optimizer is not None:
                self.look_at(optimizer, number)

    def look_at(self, optimizer: Optimizer, number: int) -> None:
        """Note the mode where it is another than at the last look."""
        training = training_of(optimizer)
        if training is None or self._met.get(number, (None, None))[1] is training:
            return
        recording, kind = self.recording, type(optimizer)
        if number not in self._met and any(looked_up(kind, name) is None for name in _METHODS):
            return  # Nothing switches it.
        self._met[number] = weakref.ref(optimizer), training
        recording.events.append(OptimizerModeMet(len(recording.ops), -1, number, kind.__name__, training))

    def fold(self, optimizers: Collection[int]) -> None:
        """Forget the others."""
        self._met = {number: met for number, met in self._met.items() if number in optimizers}


def training_of(optimizer: Optimizer) -> bool | None:
    """Whether an optimizer is in train mode, by ``train_mode`` in its groups; None: they have none."""
    modes = [group["train_mode"] for group in groups_of(optimizer) if "train_mode" in group]
    return any(mode is True for mode in modes) if modes else None
