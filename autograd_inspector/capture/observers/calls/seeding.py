"""Seeds that the program gives torch's generators while it trains."""

from __future__ import annotations

from typing import Any

import torch

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import RandomSeeded


class Seeding:
    """Notes each seed, and the first state that is put back after one."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._seeded = False

    def install(self, into: Installation) -> None:
        """A probe in each function: torch.random has the same ones under its own names."""
        around(into, torch, "manual_seed", _Probe(self, restores=False))
        around(into, torch, "set_rng_state", _Probe(self, restores=True))

    def called(self, *args: Any, restores: bool, **kwargs: Any) -> None:
        """A generator was seeded, or was given a state."""
        recording = self._recording
        if recording.here() and recording.active() and (self._seeded or not restores):
            self._seeded = not restores
            self._guard.run(self._note, None if restores else kwargs.get("seed", args[0] if args else None))

    def _note(self, seed: Any) -> None:
        recording = self._recording
        number = seed if type(seed) is int and seed >= 0 else -1
        recording.events.append(RandomSeeded(len(recording.ops), recording.stacks.here(0), number))


class _Probe:
    """In one of them."""

    def __init__(self, seeding: Seeding, *, restores: bool) -> None:
        self._seeding = seeding
        self._restores = restores

    def before(self, _seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        """It was called."""
        self._seeding.called(*args, restores=self._restores, **kwargs)

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It returned."""
        return result

    def failed(self, _seen: list[Any], _error: BaseException, /) -> None:
        """It raised."""
