"""Activation checkpointing that is not to keep the state of the random generators for the recomputation."""

from __future__ import annotations

from typing import Any

import torch.utils.checkpoint

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import RandomStateDropped

_OPTION = "preserve_rng_state"


class Checkpoints:
    """In ``checkpoint()``: notes each line once that passes ``preserve_rng_state=False``."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._sites: set[int] = set()

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        around(into, torch.utils.checkpoint, "checkpoint", self)

    def before(self, _seen: list[Any], /, *_args: Any, **kwargs: Any) -> None:
        """A function is about to be run under it."""
        if kwargs.get(_OPTION) is False and self._recording.here() and self._recording.active():
            self._guard.run(self._note)

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It returned."""
        return result

    def failed(self, _seen: list[Any], _error: BaseException, /) -> None:
        """It raised."""

    def _note(self) -> None:
        recording = self._recording
        site = recording.stacks.here(0)
        if site not in self._sites:
            self._sites.add(site)
            recording.events.append(RandomStateDropped(len(recording.ops), site))
