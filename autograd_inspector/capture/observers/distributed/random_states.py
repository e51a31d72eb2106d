"""Where the program sets the state of torch's random generator, of which each rank is to have its own."""

from __future__ import annotations

from typing import Any

import torch

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.several_ranks import several_ranks
from autograd_inspector.capture.tensors.reading import fingerprint
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import RandomStateSet

_MOST = 64
"""Calls of a capture."""


class RandomStates:
    """Probes in the functions that set it, where values may be read."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._told = 0

    def install(self, into: Installation) -> None:
        """Put them in place."""
        if self._recording.values is not None and several_ranks():
            for name in ("set_rng_state", "manual_seed"):
                around(into, torch, name, _Probe(self, self._guard, name))

    def note(self, name: str, given: Any) -> None:
        """It was set to what has this state, or by this seed."""
        recording = self._recording
        digest = fingerprint(given) if isinstance(given, torch.Tensor) else hash(given)
        if digest is not None and self._told < _MOST and recording.active():
            self._told += 1
            recording.events.append(RandomStateSet(len(recording.ops), recording.stacks.here(0), name, digest))


class _Probe:
    def __init__(self, states: RandomStates, guard: Guard, name: str) -> None:
        self._states = states
        self._guard = guard
        self._name = name

    def before(self, _seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        given = [*args, *kwargs.values()]
        if given and self._guard.recording.here():
            self._guard.run(self._states.note, self._name, given[0])

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        return result

    def failed(self, _seen: list[Any], _error: BaseException, /) -> None:
        """It set nothing."""
