"""What ``inspect()`` opens: it puts every observer in place, and takes every one away again."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Literal, Self

from msgspec.structs import replace
from torch import nn
from torch.optim import Optimizer

from autograd_inspector.capture.failing import Failures
from autograd_inspector.capture.freezing.freeze import freeze
from autograd_inspector.capture.graph_walk.unwalked import tell_by_ops
from autograd_inspector.capture.interim import Interim
from autograd_inspector.capture.last_look import LastLook
from autograd_inspector.capture.lines.frames import running
from autograd_inspector.capture.lines.tracebacks import user_frames_of, without_own_frames
from autograd_inspector.capture.native.putting_in import put_in
from autograd_inspector.capture.observers.all_observers import install_all
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.observers.compiled.inside import refuse_inside_compiled_code
from autograd_inspector.capture.observers.distributed.fingerprints import Fingerprints
from autograd_inspector.capture.observers.distributed.layers import Layers
from autograd_inspector.capture.observers.measuring import measure_in
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.optimizers.known import Optimizers
from autograd_inspector.capture.observers.optimizers.refusals import note_scaler
from autograd_inspector.capture.progress import RecordingProgress
from autograd_inspector.capture.recording.held_tensors import note_held
from autograd_inspector.capture.recording.recording import living_parameters, new_recording
from autograd_inspector.capture.retention.folding import Folding
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction, is_on
from autograd_inspector.capture.torch_private.resolving import check
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.holding import Held
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.mode_stack import put_back, put_back_now, take_off_closed
from autograd_inspector.capture.undisturbed.recursion import OUT_OF_STACK
from autograd_inspector.capture.vitals.collector import Vitals
from autograd_inspector.messages import text_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.steps_history import History
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.raised import traceback_of

TAKEN_OFF = "Something removed the inspector's mode from torch's mode stack: calls after that are missing."

INTERRUPTED = (
    "An interrupt prevented an earlier capture from closing, so it has no report. Its hooks in torch were removed "
    "before this capture began."
)
STOPPED = "Recording was stopped on request: calls after that are missing."
STRUCK = "An interrupt arrived while a torch call was being recorded: that call may be missing."

_HOLDING = (TorchError.DEEPCOPY_OF_NON_LEAF, TorchError.NON_LEAF_SENT, TorchError.NUMPY_OF_TRACKED)
"""What was refused is somewhere in the program's own objects."""

put_in()

_CURRENT: Session | None = None
"""The capture that is in place, also where it will record nothing more."""


class NestedInspectionError(RuntimeError):
    """A capture is already open in this process."""

    def __init__(self) -> None:
        super().__init__(
            "autograd_inspector: a capture is already open; close it (or `%autograd_inspect off`) before opening "
            "another"
        )


class Session:
    """One capture from ``start()`` to ``finish()``. Not reusable.

    ``yields``: it was opened around the program, by a command or a magic, not in it. A capture that the program opens
    itself then ends this one, which is better than an error in a program that runs well without us.
    ``eager``: what ``torch.compile`` made runs uncompiled. ``vitals`` goes on with the statistics of earlier captures.
    ``followed``: a front end may ask what is certain while the program runs. ``flight``: there is a report only if the
    program raises.
    """

    def __init__(
        self,
        *,
        values: bool = False,
        stop: FrameType | None = None,
        yields: bool = False,
        eager: bool = False,
        vitals: Vitals | None = None,
        followed: bool = False,
        flight: bool = False,
    ) -> None:
        self.yields = yields
        self._eager = eager
        self._ended: Capture | None = None
        """What was seen until the program's own capture began."""
        self.recording = new_recording(stop, values=values, vitals=vitals or (Vitals() if values else None))
        self.recording.flight = flight
        self._failures = Failures(self.recording)
        self.fail = self._failures.fail
        self.guard = Guard(self.recording, self.fail)
        self.modules = Modules(self.recording, self.guard)
        self.optimizers = Optimizers(self.recording, self.guard)
        self.optimizers.adopt = self.recording.adopt = self.modules.adopt
        self.optimizers.look_around = self.modules.look_around
        self.modules.used = self.optimizers.modes.look
        self._prints = Fingerprints(self.recording, self.guard)
        self.optimizers.steps.prints = self._prints
        if values:
            self.modules.given = self._prints.given
            layers = Layers(self.recording)
            self.modules.entered, self.modules.came = layers.entered, layers.came
        self._interim = Interim(self.recording, self.modules, self._past) if followed else None
        if self._interim is not None:
            self.recording.at_rest = self._interim.look
        if self.recording.vitals is not None:
            measure_in(self.recording, self.modules, self.recording.vitals)
        self.folding: Folding | None = None
        self._stopped = False
        """On request."""
        self.installation = Installation()
        """What is undone when it ends."""
        self._phase: Literal["new", "starting", "open", "closing", "closed"] = "new"
        self._held: Held = _held_by_all
        self._started = 0.0

    def start(self, *, held: Held, by_program: bool = False) -> Self:
        """Install all observers; raises NestedInspectionError when another capture is open, and does not yield.

        ``held`` tells whether whoever opens this one can still close it.
        """
        global _CURRENT
        interrupted = _bury()
        open_one = current()
        if open_one is not None and open_one.yields and by_program:
            open_one.give_way(self.recording.stacks.stop)
        elif open_one is not None:
            raise NestedInspectionError
        elif _CURRENT is not None:
            _CURRENT.installation.take_back()  # It failed, or this is a forked child.
        take_off_closed()
        if interrupted:
            self.recording.note(INTERRUPTED)
        self._started, self._held = time.perf_counter(), held
        self._phase, _CURRENT = "starting", self
        try:
            try:
                self._install()
            except Exception as failure:
                self.installation.take_back()
                self.fail(failure)
            self._phase = "open"
        except BaseException:
            self.abandon()
            raise
        return self

    @property
    def failure(self) -> str:
        """Of the inspector's own, why nothing more is recorded; "" where there was none."""
        return self._failures.failure

    @property
    def new(self) -> bool:
        """Whether it was never started."""
        return self._phase == "new"

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it, whether or not there is a report."""
        return self._phase == "closed"

    def _install(self) -> None:
        check()
        refuse_inside_compiled_code(sys._getframe())
        self.recording.thread = threading.get_ident()
        regions = Regions(self.recording)
        self.folding = Folding(self.recording, self.modules, regions, self.optimizers)
        install_all(
            self.recording,
            self.guard,
            regions,
            self.modules,
            self.optimizers,
            self._prints,
            self.installation,
            eager=self._eager,
        )

    def finish(self, error: BaseException | None = None) -> Capture:
        """Take every observer away and freeze what was seen."""
        if self._ended is not None:
            return replace(self._ended, error="" if error is None else text_of(error))
        recording, text = self.recording, ""
        seconds = time.perf_counter() - self._started
        try:
            self._phase = "closing"
            recording.recording = False
            text = "" if error is None else text_of(error)
            put_back(error)
            put_back_now(recording.mode)
            self.optimizers.steps.come_back()
            if not self.failure:
                without_own_frames(error)
            if error is not None:
                with DisableTorchFunction():
                    recording.ended_by(error, text)
                    note_scaler(recording, self.optimizers, error)
                    if says(text, *_HOLDING):
                        note_held(recording, user_frames_of(traceback_of(error)))
            if (
                not recording.closed
                and recording.mode is not None
                and recording.thread == threading.get_ident()
                and not is_on(recording.mode)
            ):
                recording.note(TAKEN_OFF)
            self.installation.take_back()
            if recording.out_of_stack:
                recording.note(OUT_OF_STACK)
            if recording.struck and (error is None or isinstance(error, Exception)):
                recording.note(STRUCK)
            with DisableTorchFunction():
                return self._frozen(seconds, error, text)
        except Exception as failure:
            self.fail(failure)
            return Capture(error=text, seconds=seconds, stopped=self.failure, notes=tuple(recording.notes))
        finally:
            self._let_go()

    def _frozen(self, seconds: float, error: BaseException | None, text: str) -> Capture:
        recording = self.recording
        if self._stopped:
            recording.note(STOPPED)
            recording.closed = False  # Nothing observes any more: what the program holds can be looked at.
        if not recording.closed:
            LastLook(recording, self.modules, self.optimizers, self._failures).take(raised=error is not None)
        tell_by_ops(recording)
        recording.closed = True
        history = self.folding.finish(raised=error is not None) if self.folding is not None else History()
        if recording.vitals is not None:
            last = max((step.op for step in recording.steps), default=-1)
            ran = any(run.start > last and run.api != "alive" for run in recording.backwards)
            recording.vitals.finish(living_parameters(recording.registry), ran=ran, saved=history.saved_bytes)
        return replace(freeze(recording, self.modules, history, seconds=seconds, error=text), stopped=self._why_stopped)

    def _past(self) -> History:
        return History() if self.folding is None else self.folding.so_far()

    @property
    def _why_stopped(self) -> str:
        return self.failure or (STOPPED if self._stopped else "")

    def give_way(self, to: FrameType | None) -> None:
        """End here: the program opens a capture of its own in that frame."""
        where = "" if to is None else f" ({Path(to.f_code.co_filename).name}:{to.f_lineno})"
        self.recording.note(
            f"recording stopped where the program opened its own inspect() block{where}: that block recorded the rest"
        )
        self._ended = self.finish()

    def abandon(self) -> None:
        """Take every observer away and forget what was seen, for a fraction of what a record of it costs."""
        self._phase = "closing"
        try:
            self._let_go()
        except Exception as failure:
            self.fail(failure)

    def _let_go(self) -> None:
        """Nothing is observed, and nothing kept alive any more. Right however often, and from where, it is called."""
        global _CURRENT  # noqa: PLW0603
        self.recording.closed, self.recording.recording = True, False
        try:
            self.installation.take_back()
        finally:
            self.optimizers.close()
            self.modules.close()
            self.recording.forget()
            self._interim = None  # The capture of the end has all that it had.
            self._held = _held_by_all  # It may hold the frame that opened it, and what is in there.
            self._phase = "closed"
            if _CURRENT is self:
                _CURRENT = None

    def bury(self) -> bool:
        """Take it away if nobody will close it any more. Returns whether that was so."""
        if not self._is_dead():
            return False
        self._ended = Capture(notes=(INTERRUPTED,), stopped=INTERRUPTED)
        self.abandon()
        return True

    def _is_dead(self) -> bool:
        """Whether nobody will close it any more: an interrupt struck whoever was to, or whoever is opening it."""
        if self._phase == "open":
            return not self._held()
        steps = {step.__code__ for step in (Session.start, Session.finish, Session.abandon)}
        return not any(f.f_code in steps and f.f_locals["self"] is self for f in running())

    def introduce(self, models: Iterable[nn.Module], optimizers: Iterable[Optimizer], *, lasting: bool = False) -> None:
        """Meet models and optimizers before the program uses them: then it is known what is meant to learn.

        ``lasting``: whoever introduces them holds the optimizers until the capture is over. May be called in each step:
        a model is looked at once.
        """
        try:
            with DisableTorchFunction():
                for model in models:
                    self.modules.meet(model)
                for optimizer in optimizers:
                    number = self.optimizers.id_of(optimizer)
                    if lasting:
                        self.optimizers.lasting.add(number)
        except Exception as failure:
            self.fail(failure)

    @property
    def progress(self) -> RecordingProgress:
        """How far the program is; may be asked for in any thread."""
        steps = 0 if self.folding is None else self.folding.steps
        seconds = time.perf_counter() - self._started
        return RecordingProgress(len(self.recording.ops), steps, seconds, stopped=self._stopped or bool(self.failure))

    @property
    def interim(self) -> Capture | None:
        """The program up to the last thing that is certain to be wrong with it; may be asked for in any thread."""
        interim = self._interim
        return None if interim is None else interim.capture

    def stop(self) -> None:
        """Record nothing from now on, in whatever thread the program runs: it goes on, and the report comes at its end.

        The observers stay until then, and do nothing.
        """
        if self._phase == "open" and not self.recording.closed:
            self._stopped = True
            self.recording.closed, self.recording.recording = True, False


def current() -> Session | None:
    """The open capture of this process, if any."""
    _bury()
    return None if _CURRENT is None or _CURRENT.recording.closed else _CURRENT


def open_session() -> Session | None:
    """The capture that is in place, recording or not; looks at nothing, so that any thread may ask."""
    return _CURRENT


def _bury() -> bool:
    """Take the capture away that nobody will close any more. Returns whether there was one."""
    return _CURRENT is not None and _CURRENT.bury()


def _after_fork() -> None:
    """A forked child (a DataLoader worker) inherits the observers: make them inert there."""
    if _CURRENT is not None:
        _CURRENT.recording.closed, _CURRENT.recording.recording = True, False


os.register_at_fork(after_in_child=_after_fork)


def _held_by_all() -> bool:
    return True


def caller_frame(depth: int) -> FrameType:
    """The frame ``depth`` calls above the caller."""
    return sys._getframe(depth + 1)
