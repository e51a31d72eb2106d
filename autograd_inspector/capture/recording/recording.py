"""The mutable side of a capture: what observers append to, and the state that they share."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

from torch import Tensor, dtype

from autograd_inspector.capture.lines.compared import Compared
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.lines.inheritance import Extensions
from autograd_inspector.capture.lines.passed import Passed
from autograd_inspector.capture.lines.refused import passed_through, refused, started_from
from autograd_inspector.capture.lines.shared_variables import SharedVariables
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.lines.state_owners import StateOwners
from autograd_inspector.capture.lines.transforms import made_by_vmap
from autograd_inspector.capture.recording.cutoffs import Cutoffs
from autograd_inspector.capture.recording.default_dtype import DefaultChange
from autograd_inspector.capture.recording.exports import Exports
from autograd_inspector.capture.recording.lineage import Lineage
from autograd_inspector.capture.recording.pauses import Pause
from autograd_inspector.capture.recording.raw_records import OP_SITE
from autograd_inspector.capture.recording.recorded_nodes import Recorded
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.capture.recording.registry import Registry
from autograd_inspector.capture.recording.retained_results import RetainedResults
from autograd_inspector.capture.recording.values import Values
from autograd_inspector.capture.recording.versions import Ledger
from autograd_inspector.capture.torch_private.modes import is_on
from autograd_inspector.capture.vitals.collector import Vitals
from autograd_inspector.model.event import RequiresGradChanged
from autograd_inspector.model.program_events import RandomUnderVmap, ReductionUnfinished, StartRefused
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.raised import traceback_of

OTHER_THREADS = "Torch also ran in other threads; calls in those were not observed."


@dataclass
class Recording(Records):
    """The records, what is derived from them while the program runs, and whether to record now."""

    values: Values | None = None
    """Reads values, where the user opted in."""
    vitals: Vitals | None = None
    """Collects statistics over the steps, where the user opted in."""
    exports: Exports = field(default_factory=Exports)
    ledger: Ledger = field(default_factory=Ledger)
    recorded: Recorded = field(default_factory=Recorded)
    """The nodes of the graphs that the backwards went through."""
    lineage: Lineage = field(default_factory=Lineage)
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    kept: RetainedResults = field(default_factory=RetainedResults)
    passed: Passed = field(default_factory=Passed)
    compared: Compared = field(default_factory=Compared)
    extensions: Extensions = field(default_factory=Extensions)
    state_owners: StateOwners = field(default_factory=StateOwners)
    shared_variables: SharedVariables = field(default_factory=SharedVariables)
    first_dtype: dtype | None = None
    """The default dtype when the capture began."""
    default_dtype: DefaultChange | None = None
    """The call after which it is another one."""
    unfinished: ReductionUnfinished | None = None
    """What to tell if the running forward of a wrapper of one rank is refused."""
    flight: bool = False
    """Nobody reads the records unless the program raises: a graph like that of the step before need not be walked."""
    recording: bool = True
    """False while a call runs in which nothing is recorded: then ``active()`` tells whether its closure runs."""
    inside_opaque: bool = False
    """A call runs that is one op, whatever it does inside."""
    elsewhere: set[int] = field(default_factory=set)
    """Compiled calls that run in threads that are no part of the capture: nothing is observed meanwhile."""
    continuing: bool = False
    """A callback runs that a hook goes on with. On another rank it may run in a thread of the backend's, unobserved."""
    pauses: list[Pause] = field(default_factory=list)
    """The calls that run and in which nothing is recorded: optimizer steps, collectives. The innermost last."""
    still: FrameType | None = None
    """The innermost of these, where it calls nothing of the program's back: its calls need no other look."""
    mode: object = None
    """The torch-function mode of this capture: the threads that have it on their stack are observed."""
    on_step: Callable[[int, int], int] | None = None
    """Told each completed optimizer step: the optimizer, and the op that stands for the step.

    Tells which training step of the capture that was part of, counted from 1.
    """
    at_rest: Callable[[], None] | None = None
    """Called before a backward and after an optimizer step: where the program is about to go on."""
    watch: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
    """Makes the calls in a step that is watched, in which nothing is recorded."""
    adopt: Callable[[Iterable[Tensor]], None] = lambda _: None
    """Names parameters by the models that the running frames hold."""

    def requires_grad_changed(self, tensor: int, *, requires_grad: bool) -> None:
        """``requires_grad`` of a tensor is another one now."""
        site = self.stacks.here(1)
        extended_by = self.extensions.of(sys._getframe(1), self.stacks.stop)
        self.requires_grad_changes.append(
            RequiresGradChanged(len(self.ops), tensor, requires_grad, site, extended_by=extended_by)
        )

    def activated(self, name: str, results: Iterable[Tensor]) -> None:
        """An activation function has returned; its record is the last one."""
        if self.vitals is not None:
            call = self.calls[self.call] if self.call >= 0 else None
            self.vitals.activated(name, results, call, self.ops[len(self.ops) - 1][OP_SITE])

    def active(self) -> bool:
        """Whether to record now. A call that an exception left is noticed here: its frame is gone from the stack."""
        pauses = self.pauses
        if self.recording or self.closed or not pauses:
            return self.recording
        while pauses:
            pause = pauses[-1]
            inside = pause.asks(sys._getframe(1))
            if inside is not None:
                if inside != pause.inside:
                    pause.inside = inside
                    pause.crossed()
                return inside and not self.closed
            self._lose()
        return self.recording

    def here(self) -> bool:
        """Whether the capture is open and this thread is part of it. Hooks and patched methods are process-wide.

        An engine thread of a backward that the capture's own thread called carries the mode, so it is part of it.
        """
        if self.closed:
            return False
        if threading.get_ident() == self.thread:
            return True
        if is_on(self.mode) or self._hands_on():
            return True
        self.note(OTHER_THREADS)
        return False

    def _hands_on(self) -> bool:
        """Whether the mode is at work in this thread: torch takes it off the stack for the call that it hands on."""
        handler = getattr(getattr(type(self.mode), "__torch_function__", None), "__code__", None)
        inside = (frame for frame in outwards(sys._getframe(1)) if frame.f_code is handler)
        return any(value is self.mode for frame in inside for _, value in locals_of(frame))

    def pause(self, pause: Pause) -> None:
        """Record nothing for as long as that call runs, but what its own closure does."""
        pauses = self.pauses
        self.still = None
        pauses += (pause,)  # No call lies between the two, which an interrupt could strike.
        self.recording = False
        self.still = self._still()

    def go_on(self, frame: FrameType) -> Pause | None:
        """The call in that frame is over; None where it was no pause."""
        if not any(pause.frame is frame for pause in self.pauses):
            return None
        while self.pauses[-1].frame is not frame:
            self._lose()
        return self._unpause()

    def lose_pauses(self) -> None:
        """No call that has not come back will."""
        while self.pauses:
            self._lose()

    def _lose(self) -> None:
        self._unpause().lost()

    def _unpause(self) -> Pause:
        pause, only = self.pauses[-1], len(self.pauses) == 1
        self.still = None
        del self.pauses[-1]
        self.recording = only and not self.closed
        self.still = self._still()
        return pause

    def _still(self) -> FrameType | None:
        pause = self.pauses[-1] if self.pauses and self.watch is None else None
        return None if pause is None or pause.calls_back else pause.frame

    def ended_by(self, error: BaseException, text: str) -> None:
        """The capture ends with an exception: one that left a running step says where in the step it was raised."""
        self.error_site = self.stacks.of_exception(traceback_of(error))
        if says(text, TorchError.VMAP_RANDOM):
            made = made_by_vmap(self.stacks, traceback_of(error))
            self.events.append(RandomUnderVmap(len(self.ops), made))
        if says(text, TorchError.NOT_A_SCALAR, TorchError.GRAD_OUTPUT_SHAPE):
            started = tuple(map(self.id_of, started_from(traceback_of(error))))
            self.events.append(StartRefused(len(self.ops), self.error_site, started))
        if self.unfinished is not None and says(text, TorchError.DDP_REDUCTION):
            self.events.append(self.unfinished)
        sent = refused(traceback_of(error))
        self.error_tensor = -1 if sent is None else self.id_of(sent)
        for pause in self.pauses:
            if passed_through(traceback_of(error), pause.frame):
                pause.raised = (self.stacks.of_traceback(traceback_of(error), pause.frame), text)

    def kept_records(self) -> int:
        """How many records it holds now; older ones may have been folded away."""
        windows = (self.ops, self.calls, self.regions, self.backwards, self.recorded.nodes, self.registry.entries)
        lists: tuple[Collection[Any], ...] = (
            self.steps,
            self.grad_reads,
            self.grad_writes,
            self.tensor_hooks,
            self.requires_grad_changes,
            self.events,
            self.replacements,
            self.scalar_reentries,
            self.none_gradients,
            self.optimizers,
            self.rows,
            self.left_out,
        )
        return sum(window.kept for window in windows) + sum(map(len, lists))

    def forget(self) -> None:
        """The capture is frozen: let go of everything live, and of what the records now hold.

        Code that a probe was put into holds the observers, and so this, for as long as its lines are known.
        """
        self.closed, self.recording = True, False
        self.pauses.clear()
        self.still = None
        self.stacks.close()
        self.state_owners.clear()
        self.registry.close()
        for window in (self.ops, self.calls, self.regions, self.backwards):
            window.clear()
        for records in (self.steps, self.grad_reads, self.grad_writes, self.events, self.scalar_reentries):
            records.clear()
        for by_op in (self.number_arguments, self.scales, self.none_gradients):
            by_op.clear()
        self.ledger, self.recorded, self.lineage = Ledger(), Recorded(), Lineage()
        self.compared, self.passed = Compared(), Passed()
        self._bounds, self._bounded = ([], [], []), 0
        self.on_step = self.at_rest = self.mode = self.watch = self.vitals = None
        self.adopt = lambda _: None


def new_recording(stop: FrameType | None, *, values: bool, vitals: Vitals | None = None) -> Recording:
    """An empty recording whose stacks end at ``stop``."""
    registry = Registry()
    reading = Values(partial(living_parameters, registry)) if values else None
    return Recording(registry, Stacks(stop), values=reading, vitals=vitals)


def living_parameters(registry: Registry) -> Iterator[tuple[int, Tensor]]:
    """(number, parameter) of those of models that the program still holds."""
    for number in sorted(registry.parameters):
        entry = registry.entries.get(number)
        tensor = None if entry is None else entry()
        if tensor is not None:
            yield number, tensor
