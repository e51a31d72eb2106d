"""The look at what the program still holds when its block ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_inspector.capture.failing import Failures, origin
from autograd_inspector.capture.observers.backward.living import walk_alive
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.modules.own_switches import note_lines
from autograd_inspector.capture.observers.modules.plain import note_plain_attributes
from autograd_inspector.capture.observers.modules.unmatched_freezing import note_unmatched_freezing
from autograd_inspector.capture.observers.optimizers.known import Optimizers
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import has_history
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import text_of
from autograd_inspector.raised import traceback_of

LEFT_OUT = "autograd_inspector could not read all objects that the program held at the end:"


class LastLook:
    """What cannot be looked at is left out, and takes nothing else with it."""

    def __init__(self, recording: Recording, modules: Modules, optimizers: Optimizers, failures: Failures) -> None:
        self._recording = recording
        self._modules = modules
        self._optimizers = optimizers
        self._failures = failures

    def take(self, *, raised: bool) -> None:
        """All of it; where the program ``raised``, or gradients have graphs, also which tensors with one are alive."""
        recording, modules, optimizers = self._recording, self._modules, self._optimizers
        self._look(optimizers.close)
        for model in modules.alive():
            self._look(modules.scan, model)
        for number, optimizer in optimizers.alive():
            self._look(optimizers.snapshot, optimizer, number)
        self._look(note_plain_attributes, recording, modules.plain)
        self._look(note_lines, recording)
        self._look(note_unmatched_freezing, recording)
        self._look(walk_alive, recording)
        self._look(recording.kept.finish, recording)
        if raised or any(run.create_graph and run.api == "backward" for run in recording.backwards):
            self._look(self._note_alive)

    def _look(self, step: Callable[..., object], *args: Any) -> None:
        try:
            step(*args)
        except RecursionError:
            self._recording.out_of_stack = True
        except Exception as failure:
            if is_interrupt(failure):
                raise
            self._failures.tell(f"{LEFT_OUT} {text_of(failure)} ({origin(traceback_of(failure))})", failure)

    def _note_alive(self) -> None:
        registry = self._recording.registry
        candidates = [e.tensor for e in registry.entries if e.requires_grad]
        self._recording.alive = tuple(n for n, t in registry.alive(candidates) if has_history(t))
