"""The calls of models in threads that are no part of the capture: that there are any, and in which mode."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from contextlib import suppress

import torch
from torch import nn

from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import CalledElsewhere

_ident = threading.get_ident
_MOST = 4
"""So many calls of one module in one mode are noted: a thread may call it for as long as the program runs."""


class Elsewhere:
    """Notes the outermost call of a module in each such thread. What it computes is not observed.

    Tensors are looked up and none is numbered: the capture's own thread may be numbering one just now.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._inside: set[int] = set()
        """The threads that are in such a call."""
        self._noted: Counter[tuple[int, bool, bool]] = Counter()
        """By the module's id, and whether grad mode is on in its thread and in the capture's."""

    def begin(self, module: nn.Module) -> int:
        """A call begins in this thread; what ``end`` takes, or 0 for a call within another."""
        thread = _ident()
        if thread in self._inside:
            return 0
        self._inside.add(thread)
        with suppress(RuntimeError):  # Another thread changes a dictionary that is gone through.
            self._note(module)
        return thread

    def end(self, thread: int) -> None:
        """The call that began so is over."""
        self._inside.discard(thread)

    def _note(self, module: nn.Module) -> None:
        recording = self._recording
        region = recording.regions[recording.region]
        key = id(module), torch.is_grad_enabled(), region.kind == "enabled"
        self._noted[key] += 1
        if self._noted[key] > _MOST:
            return
        entry_of, stacks = recording.registry.entry_of, recording.stacks
        tensors = tuple(entry.tensor for p in parameters_of(module) if (entry := entry_of(p)) is not None)
        if not tensors:
            return
        off = region.kind != "enabled" and not region.library
        waiting = sys._current_frames().get(recording.thread)
        recording.events.append(
            CalledElsewhere(
                len(recording.ops),
                stacks.at(sys._getframe(0)),
                type(module).__name__,
                tensors,
                torch.is_grad_enabled(),
                region.api if off else "",
                region.site if off else -1,
                -1 if waiting is None else stacks.at(waiting),
            )
        )
