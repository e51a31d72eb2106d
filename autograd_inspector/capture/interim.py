"""What a program that still runs has done for certain: a capture of it, made before the program ends.

A backward that raised, a call that raised, ``.grad`` read of a tensor that has none: nothing that comes later takes
these back. They are looked for where the program is about to go on, before a backward and after an optimizer step. So
an exception that ends the program costs nothing here, and one that it catches can be shown while it runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from copy import copy
from itertools import takewhile
from typing import Any

from autograd_inspector.capture.freezing.freeze import freeze
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.recording.raw_records import OP_ERROR, OP_SITE
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.retention.settled_copy import settled_copy
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.steps_history import History

MOST = 4
"""So many interim captures are made: each takes about as long as the one at the end."""

Place = tuple[str, int]
"""What happened, and the site."""


class Interim:
    """Freezes what is recorded when something certain has happened at a new place.

    ``capture`` is the latest, None while nothing of that kind has happened; any thread may read it. ``past`` tells of
    the steps that are folded by now.
    """

    def __init__(self, recording: Recording, modules: Modules, past: Callable[[], History]) -> None:
        self.capture: Capture | None = None
        self._recording = recording
        self._modules = modules
        self._past = past
        self._places: set[Place] = set()
        self._left = MOST
        self._ops = self._backwards = self._started = 0
        """What was looked at: so many ops and backwards, and the faults before the latest backward began."""

    def look(self) -> None:
        """The program stands before a backward, or after a step. A failure here ends this, not the recording."""
        if not self._left or self._recording.pauses or self._recording.running:
            return
        try:
            places = set(self._new_places()) - self._places
            if places:
                self._places |= places
                self._left -= 1
                self.capture = self._frozen()
        except Exception as failure:
            if is_interrupt(failure) or os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
                raise
            self._left = 0

    def _new_places(self) -> Iterator[Place]:
        recording = self._recording
        for _, op in recording.ops.items(self._ops):
            if op[OP_ERROR]:
                yield "op", op[OP_SITE]
        for _, run in recording.backwards.items(self._backwards):
            if run.error:
                yield "backward", run.site
        for read in takewhile(lambda read: read.at >= self._ops, reversed(recording.grad_reads)):
            if read.gradient < 0 and not (read.leaf or read.retains_grad):
                yield "read", read.site
        yield from self._new_faults()
        self._ops, self._backwards = len(recording.ops), len(recording.backwards)

    def _new_faults(self) -> Iterator[Place]:
        """What a backward has started from since: until then a program may mask the value, or drop it."""
        recording = self._recording
        last = max((run.start for _, run in recording.backwards.items(self._backwards)), default=self._started)
        for fault in () if recording.values is None else recording.values.faults:
            at = fault.op if fault.op >= 0 else fault.met_by
            made = recording.ops.get(at) if self._started <= at < last else None
            if made is not None:
                yield "value", made[OP_SITE]
        self._started = last

    def _frozen(self) -> Capture:
        """Of a copy, which has the same records: what freezing notes belongs to this capture alone.

        Without the statistics, which would have to wait for the device.
        """
        recording, modules, history = self._recording, self._modules, History()
        if recording.ops.folded:
            recording, modules, history = settled_copy(recording, modules, self._past())
        recording = copy(recording)
        lists: dict[str, Any] = {"notes": [], "left_out": {}, "vitals": None}
        for name, value in lists.items():
            setattr(recording, name, value)
        return freeze(recording, modules, history, seconds=0.0, error="", keep=not self._recording.ops.folded)
