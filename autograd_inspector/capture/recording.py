"""The mutable side of a capture: what observers append to, and the state that they share."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.graph_walk.cutoffs import Cutoffs
from autograd_inspector.capture.graph_walk.lineage import Lineage
from autograd_inspector.capture.graph_walk.recorded_nodes import Recorded
from autograd_inspector.capture.lines.compared import Compared
from autograd_inspector.capture.lines.local_names import names_of
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.observers.calls.exports import Exports
from autograd_inspector.capture.observers.calls.mode_stack import is_on
from autograd_inspector.capture.observers.calls.refused import refused
from autograd_inspector.capture.observers.calls.values import Values
from autograd_inspector.capture.raw_records import OP_FIRST, OP_LAST, RawOp
from autograd_inspector.capture.registry import Registry
from autograd_inspector.capture.retention.retained_results import RetainedResults
from autograd_inspector.capture.retention.window import Window
from autograd_inspector.capture.undisturbed.pauses import Pause
from autograd_inspector.capture.versions import Ledger
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import (
    GradRead,
    GradWrite,
    NoneGradient,
    ParameterReplacement,
    RequiresGradChanged,
    Step,
    TensorHook,
)
from autograd_inspector.model.op import ModuleCall, Region
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import Event

OTHER_THREADS = "Torch ran in other threads too: what was called there was not observed."


@dataclass
class Recording:
    """Everything observed so far. Appended to in program order; frozen into a Capture at the end."""

    registry: Registry
    stacks: Stacks
    values: Values | None = None
    """Reads values, where the user opted in."""
    ops: Window[RawOp] = field(default_factory=Window)
    calls: Window[ModuleCall] = field(default_factory=Window)
    regions: Window[Region] = field(default_factory=Window)
    backwards: Window[Backward] = field(default_factory=Window)
    running: list[int] = field(default_factory=list)
    """Those of the backwards that have not returned, the innermost last."""
    steps: list[Step] = field(default_factory=list)
    grad_reads: list[GradRead] = field(default_factory=list)
    grad_writes: list[GradWrite] = field(default_factory=list)
    tensor_hooks: list[TensorHook] = field(default_factory=list)
    hooked: set[int] = field(default_factory=set)
    """The tensors that those are on."""
    requires_grad_changes: list[RequiresGradChanged] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    optimizers: dict[int, OptimizerRecord] = field(default_factory=dict)
    rows: dict[int, list[Any]] = field(default_factory=dict)
    left_out: dict[int, str] = field(default_factory=dict)
    """Optimizer -> what of its state could not be looked into, as a note."""
    notes: list[str] = field(default_factory=list)
    functions: dict[str, CodeType | None] = field(default_factory=dict)
    """Custom autograd.Function -> the code of its backward."""
    steppers: dict[tuple[str, str], tuple[CodeType, ...]] = field(default_factory=dict)
    """(module, name) of an optimizer's class -> the methods that the user wrote of it."""
    alive: tuple[int, ...] = ()
    """Tensors with a graph that a program which raised still held at the end."""
    scalar_reentries: list[tuple[int, int]] = field(default_factory=list)
    """(op, op that had taken a number out of torch which this one was given)."""
    given: dict[int, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    """Op that wrote something -> the plain numbers among its arguments."""
    exports: Exports = field(default_factory=Exports)
    ledger: Ledger = field(default_factory=Ledger)
    recorded: Recorded = field(default_factory=Recorded)
    """The nodes of the graphs that the backwards went through."""
    lineage: Lineage = field(default_factory=Lineage)
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    kept: RetainedResults = field(default_factory=RetainedResults)
    none_gradients: dict[NoneGradient, None] = field(default_factory=dict)
    """Each once, the last that came last: a graph that is kept goes backward again and again."""
    replacements: list[ParameterReplacement] = field(default_factory=list)
    named: set[int] = field(default_factory=set)
    """Tensors that have a name in some module."""
    compared: Compared = field(default_factory=Compared)
    variables: dict[int, str] = field(default_factory=dict)
    """Leaf -> the variable that held it when an optimizer or a backward met it, "" when none did."""
    recording: bool = True
    """False while a call runs in which nothing is recorded: then ``active()`` tells whether its closure runs."""
    traits: int = 0
    """Traits that every op gets now: BACKWARD inside the engine, INNER inside a custom Function's forward."""
    inside_opaque: bool = False
    """A call runs that is one op, whatever it does inside."""
    call: int = -1
    """The innermost module call."""
    region: int = 0
    thread: int = field(default_factory=threading.get_ident)
    rank: tuple[int, int] = (-1, 0)
    """Of this process in the default process group at the last step, and how many ranks it had."""
    _bounds: tuple[list[int], list[int], list[int]] = field(default_factory=lambda: ([], [], []))
    _bounded: int = 0
    pauses: list[Pause] = field(default_factory=list)
    """The calls that run and in which nothing is recorded: optimizer steps, collectives. The innermost last."""
    error_site: int = -1
    """Where the exception that ended the capture was raised."""
    error_tensor: int = -1
    """The tensor that it is about."""
    nonfinite: tuple[int, str] = (-1, "")
    """(site, number) of the first NaN or Inf that the program took out of torch itself."""
    closed: bool = False
    """Nothing is recorded any more: the capture ended, its own failure ended it, or this is a forked child."""
    out_of_stack: bool = False
    """An observer met the end of Python's stack, and let go of what it was about to record."""
    struck: bool = False
    """An interrupt struck an observer, which let go of what it was about to record."""
    mode: object = None
    """The torch-function mode of this capture: the threads that have it on their stack are observed."""
    on_step: Callable[[int, int], None] | None = None
    """Told each completed optimizer step: the optimizer, and the op that stands for the step."""
    adopt: Callable[[Iterable[Tensor]], None] = lambda _: None
    """Names parameters by the models that the running frames hold."""

    def id_of(self, tensor: Tensor) -> int:
        """The id of a tensor, met now if never before."""
        return self.registry.enter(tensor, -1, len(self.ops)).tensor

    def name_variables(self, leaves: Iterable[Tensor]) -> None:
        """Name leaves of no module by the variables of the running frames; each is looked for once."""
        found = {id(leaf): self.id_of(leaf) for leaf in leaves}
        sought = {live: number for live, number in found.items() if number not in self.variables}
        if sought:
            self.variables |= dict.fromkeys(sought.values(), "") | names_of(sought, self.stacks.stop)

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
        if is_on(self.mode):
            return True
        self.note(OTHER_THREADS)
        return False

    def pause(self, pause: Pause) -> None:
        """Record nothing for as long as that call runs, but what its own closure does."""
        pauses = self.pauses
        pauses += (pause,)  # No call lies between the two, which an interrupt could strike.
        self.recording = False

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
        del self.pauses[-1]
        self.recording = only and not self.closed
        return pause

    def ended_by(self, error: BaseException, text: str) -> None:
        """The capture ends with an exception: one that left a running step says where in the step it was raised."""
        self.error_site = self.stacks.of_exception(error.__traceback__)
        sent = refused(error.__traceback__)
        self.error_tensor = -1 if sent is None else self.id_of(sent)
        for pause in self.pauses:
            pause.raised = (self.stacks.of_traceback(error.__traceback__, pause.frame), text)

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
        )
        return sum(window.kept for window in windows) + sum(map(len, lists))

    def forget(self) -> None:
        """The capture is frozen: let go of everything live, and of what the records now hold."""
        self.closed, self.recording = True, False
        self.pauses.clear()
        self.stacks.close()
        self.registry.close()
        self.ops.clear()
        self.ledger, self.recorded, self.lineage, self.compared = Ledger(), Recorded(), Lineage(), Compared()
        self._bounds, self._bounded = ([], [], []), 0
        self.on_step = self.mode = None
        self.adopt = lambda _: None

    def note(self, text: str) -> None:
        """Say something about the capture itself, once."""
        if text not in self.notes:
            self.notes.append(text)

    def sequence_bounds(self) -> tuple[list[int], list[int], list[int]]:
        """(first, last, op index) of the ops that made autograd nodes, by sequence number, kept up to date."""
        firsts, lasts, indices = self._bounds
        end = len(self.ops)
        for index, op in self.ops.items(self._bounded):
            if op[OP_LAST] > op[OP_FIRST] and (not lasts or op[OP_FIRST] >= lasts[-1]):
                firsts += (op[OP_FIRST],)  # By +=, so that the three stay equally long where an interrupt strikes.
                lasts += (op[OP_LAST],)
                indices += (index,)
            self._bounded = index + 1
        self._bounded = end
        return self._bounds

    def fold_bounds(self, cut: int, ops: Collection[int]) -> None:
        """Of the bounds before that op keep only those of some ops."""
        self.sequence_bounds()
        kept = [bound for bound in zip(*self._bounds, strict=True) if bound[2] >= cut or bound[2] in ops]
        for column, values in zip(self._bounds, zip(*kept, strict=True) if kept else ((), (), ()), strict=True):
            column[:] = values

    def append(  # noqa: PLR0913, PLR0917 - the fields of an op
        self,
        name: str,
        inputs: tuple[int, ...] = (),
        outputs: tuple[int, ...] = (),
        writes: tuple[Any, ...] = (),
        traits: int = 0,
        site: int | None = None,
        error: str = "",
        versions: tuple[int, ...] = (),
        sequence: tuple[int, int] = (-1, -1),
    ) -> int:
        """An op that did not come through the torch-function mode; returns its index."""
        where = self.stacks.here(1) if site is None else site
        self.ops.append(
            (
                name,
                inputs,
                versions,
                outputs,
                writes,
                where,
                self.call,
                self.region,
                traits | self.traits,
                *sequence,
                error,
            )
        )
        return len(self.ops) - 1


def new_tape(stop: FrameType | None, *, values: bool) -> Recording:
    """An empty recording whose stacks end at ``stop``."""
    return Recording(Registry(), Stacks(stop), Values() if values else None)
