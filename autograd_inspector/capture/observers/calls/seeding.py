"""Where the program sets the state of torch's random generators: by a seed, or to a state that it kept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.several_ranks import several_ranks
from autograd_inspector.capture.tensors.reading import fingerprint
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import RandomStateSet

_MOST = 64
"""States of a capture that are compared with those of other ranks."""


class Seeding:
    """Notes each seed, and the first state that is put back after one; each state, where ranks compare values."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._seeded = False
        self._left = 0

    def install(self, into: Installation) -> None:
        """A probe in each function: torch.random has the same ones under its own names."""
        self._left = _MOST if self._recording.values is not None and several_ranks() else 0
        for name in ("manual_seed", "set_rng_state"):
            around(into, torch, name, _Probe(self, name))

    def called(self, name: str, given: list[Any]) -> None:
        """A generator was seeded, or was given a state."""
        recording = self._recording
        seeds = name == "manual_seed"
        if given and recording.here() and recording.active() and (seeds or self._seeded or self._left):
            self._seeded = seeds
            self._guard.run(self._note, name, given[0])

    def _note(self, name: str, given: Any) -> None:
        recording = self._recording
        seed = given if name == "manual_seed" and type(given) is int and given >= 0 else -1
        digest = self._digest(given, seed) if self._left else None
        recording.events.append(RandomStateSet(len(recording.ops), recording.stacks.here(0), name, seed, digest))

    def _digest(self, given: Any, seed: int) -> int | None:
        self._left -= 1
        if isinstance(given, Tensor):
            return fingerprint(given)
        return seed if seed >= 0 else None


class _Probe:
    """In one of them."""

    def __init__(self, seeding: Seeding, name: str) -> None:
        self._seeding = seeding
        self._name = name

    def before(self, _seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        """It was called."""
        self._seeding.called(self._name, [*args, *kwargs.values()])

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It returned."""
        return result

    def failed(self, _seen: list[Any], _error: BaseException, /) -> None:
        """It raised."""
