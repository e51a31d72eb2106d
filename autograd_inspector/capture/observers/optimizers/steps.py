"""Optimizer steps: one record each, through torch's public global step hooks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any, Protocol

from msgspec.structs import replace
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from autograd_inspector.capture.observers.optimizers.accumulation import accumulation
from autograd_inspector.capture.observers.optimizers.closures import codes_of
from autograd_inspector.capture.observers.optimizers.groups import groups_of
from autograd_inspector.capture.observers.optimizers.knowing import KnownOptimizers
from autograd_inspector.capture.observers.optimizers.leaving_early import left_behind, returns_in_loops
from autograd_inspector.capture.observers.optimizers.nested_steps import NestedSteps
from autograd_inspector.capture.observers.optimizers.open_step import OpenStep
from autograd_inspector.capture.observers.optimizers.refusals import note_layouts
from autograd_inspector.capture.observers.optimizers.spread import rank_here, state_of
from autograd_inspector.capture.observers.optimizers.standing_aside import StandingAside
from autograd_inspector.capture.observers.optimizers.state_watch import StateWatch
from autograd_inspector.capture.observers.optimizers.step_watch import StepWatch, watchable
from autograd_inspector.capture.observers.optimizers.stray_options import StrayOptions
from autograd_inspector.capture.observers.optimizers.watched_calls import WatchedCalls
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import version_of
from autograd_inspector.capture.torch_private.modules import has_step_hooks
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.vitals.memory import bytes_of
from autograd_inspector.messages import UNKNOWN
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Trait, Write
from autograd_inspector.model.program_events import AverageLeft, StepLeftEarly, SteppedAccumulating, UpdateDropped

STEP = int(Trait.STEP)
_STATE = "state"
"""What the code of a class names that keeps something from step to step."""
_WATCHED = 2
"""Steps of an optimizer that are watched call by call."""
_FIRST = 3
"""So many first steps are watched of a class whose own code has state: one makes it, the others go on with it."""


class Compared(Protocol):
    """Whoever compares ranks."""

    def stepping(self, kind: str, site: int, parameters: Iterable[Tensor], /) -> None:
        """An optimizer is about to use the gradients of these."""

    def stepped(self, kind: str, site: int, parameters: Iterable[Tensor], /) -> None:
        """It has moved them."""


class Steps:
    """Observes every step; recording pauses inside it, but for the program's own closure."""

    def __init__(self, recording: Recording, guard: Guard, optimizers: KnownOptimizers) -> None:
        self.recording = recording
        self._guard = guard
        self._optimizers = optimizers
        self._aside = StandingAside(recording)
        self._nested = NestedSteps(recording)
        self._born: dict[int, dict[int, str]] = {}
        """Optimizer -> tensors of its state that its first steps made -> by which call."""
        self._still: dict[int, int] = {}
        """Optimizers whose steps leave some version counters as they were -> how many more are watched."""
        self.options: StrayOptions | None = None
        """Told after each step."""
        self.prints: Compared | None = None
        """Told what steps work with, where ranks are compared."""

    def install(self, into: Installation) -> None:
        """The global hooks. They hand every argument on as it is, to the program's own hooks as well."""
        self._aside.install(into)
        into.hook(register_optimizer_step_pre_hook, self._before_step)
        into.hook(register_optimizer_step_post_hook, self._after_step)

    def come_back(self) -> None:
        """Put the recorder back that stood aside for a step which an interrupt cut short."""
        self._aside.ends()

    def close(self) -> None:
        """Let go of the steps that never came back."""
        self.come_back()
        self.recording.lose_pauses()

    def _before_step(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if (
            self.recording.here() and self.recording.active()
        ):  # A step inside a step is part of it, unless the closure calls it.
            self._guard.run(self._begin, optimizer, (*args[1:], *kwargs.values()), sys._getframe(1))
        elif self.recording.pauses and self.recording.here():
            outer = self.recording.pauses[-1]
            if isinstance(outer, OpenStep):
                self._guard.run(self._nested.begins, optimizer, outer)

    def begin_compiled(self, optimizer: Optimizer, frame: FrameType) -> None:
        """A step runs as compiled code, which calls no hooks; it is over when that frame is told to be, or is gone."""
        self._guard.run(self._begin_compiled, optimizer, frame)

    def end_compiled(self, optimizer: Optimizer, frame: FrameType) -> None:
        """It is over."""
        self._guard.run(self._end, optimizer, frame)

    def _begin_compiled(self, optimizer: Optimizer, frame: FrameType) -> None:
        self._begin(optimizer, (), frame).compiled = True

    def _begin(self, optimizer: Optimizer, arguments: Iterable[Any], frame: FrameType) -> OpenStep:
        recording = self.recording
        number = self._optimizers.id_of(optimizer)
        self._optimizers.changed_since(optimizer, number)
        step = OpenStep(self, recording.registry, frame, codes_of(optimizer, arguments))
        step.begins(number, recording.stacks.here(0), len(recording.ops), groups_of(optimizer), state_of(optimizer))
        step.hooked = has_step_hooks(optimizer)
        if recording.values is not None:
            step.read_values()
        if recording.vitals is not None:
            recording.vitals.step_begins(self._with_gradient(step))
        if self.prints is not None:
            self.prints.stepping(type(optimizer).__name__, step.site, step.parameters)
        self._note_accumulation(step.site, number, type(optimizer).__name__)
        self._watch(step, number)
        recording.pause(step)
        self._aside.begins(frame)
        return step

    def _watch(self, step: OpenStep, number: int) -> None:
        """Follow the calls of a step that left values as they were before, and of the first ones of one's own class."""
        recording, record = self.recording, self.recording.optimizers[number]
        recording.watch = None
        if not watchable(step.parameters):
            return
        told = []
        if self._still.get(number, 0):
            self._still[number] -= 1
            step.watch = StepWatch(recording, step.parameters)
            told.append(step.watch.note)
        own = recording.steppers.get((record.module, record.type), ())
        if record.steps < _FIRST and any(_STATE in code.co_names for code in own):
            step.states = StateWatch(recording, step.state, step.parameters)
            told.append(step.states.note)
        if told:
            recording.watch = WatchedCalls(recording, self._guard, told).make

    def _note_accumulation(self, site: int, number: int, kind: str) -> None:
        under_way = accumulation()
        if under_way is not None:
            recording = self.recording
            recording.events.append(SteppedAccumulating(len(recording.ops), site, number, kind, *under_way))

    def crossed(self, step: OpenStep) -> None:
        """After the closure the step goes on with the gradients that the closure has computed."""
        step.closure = True
        if not step.inside:
            self._guard.run(step.take_gradients, len(self.recording.ops))
            if self.recording.vitals is not None:
                self.recording.vitals.closure_ended(self._with_gradient(step))

    def _after_step(self, optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if self.recording.here():
            self._guard.run(self._end, optimizer, sys._getframe(1))

    def _end(self, optimizer: Optimizer, frame: FrameType) -> None:
        self._aside.ends()
        step = self.recording.go_on(frame)
        if isinstance(step, OpenStep):
            self._ended(optimizer, step)

    def _ended(self, optimizer: Optimizer, step: OpenStep) -> None:
        self._leave_closure(step)
        vitals = self.recording.vitals
        if vitals is not None:
            vitals.step_ends()
        self._record(step, "", type(optimizer).__name__, step.site)
        self._note_left_early(optimizer, step.optimizer)
        if self.prints is not None:
            self.prints.stepped(type(optimizer).__name__, step.site, step.parameters)
        number = step.optimizer
        if self.options is not None:
            self.options.stepped(optimizer, number, step.site)
        record = self.recording.optimizers[number]
        self.recording.optimizers[number] = replace(record, steps=record.steps + 1)
        self._optimizers.look(optimizer, number)
        self.recording.rank = rank_here(before=self.recording.rank)  # Programs destroy their process group at the end.
        if self.recording.on_step is not None:
            training_step = self.recording.on_step(number, self.recording.steps[-1].op)
            if vitals is not None:
                vitals.belongs(training_step, lambda: bytes_of(number, step.parameters, state_of(optimizer)))
        if self.recording.at_rest is not None:
            self.recording.at_rest()

    def _note_left_early(self, optimizer: Optimizer, number: int) -> None:
        """Its class is asked only where the step looks like it."""
        recording = self.recording
        behind = left_behind(recording.steps[-1].parameters)
        if behind:
            kind = type(optimizer)
            site = next((recording.stacks.of_code(*place) for place in returns_in_loops(kind)), -1)
            recording.events.append(StepLeftEarly(recording.steps[-1].op, site, number, kind.__name__, behind))

    def _with_gradient(self, step: OpenStep) -> list[tuple[int, Tensor]]:
        number_of = self.recording.id_of
        return [
            (number_of(p), p) for p, given in zip(step.parameters, step.gradients, strict=True) if given is not None
        ]

    def lost(self, step: OpenStep) -> None:
        """It never came back: the exception that left it is known to whoever closes the capture.

        Of compiled code nobody says that it does: its frame is gone.
        """
        self._aside.ends()
        self._guard.run(self._abandon, step)

    def _abandon(self, step: OpenStep) -> None:
        optimizer = dict(self._optimizers.alive()).get(step.optimizer)
        if step.compiled and optimizer is not None and not step.raised[1]:
            self._ended(optimizer, step)
            return
        self._leave_closure(step)
        site, text = step.raised
        kind = self.recording.optimizers[step.optimizer].type
        self._record(step, text or UNKNOWN, kind, site if site >= 0 else step.site)
        if optimizer is not None:
            self._optimizers.look(optimizer, step.optimizer)

    def _leave_closure(self, step: OpenStep) -> None:
        if step.inside:  # Nothing was called since the closure was.
            step.take_gradients(len(self.recording.ops))

    def _record(self, opened: OpenStep, error: str, kind: str, site: int) -> None:
        recording = self.recording
        recording.watch = None
        facts, writes, gradients, lives = [], [], [], []
        enter, storage_of = recording.registry.enter, recording.registry.storage_of
        now = len(recording.ops)
        for parameter, version, gradient_before, around in opened.before():
            number = enter(parameter, -1, now).tensor
            after = version_of(parameter)
            if gradient_before is None:
                facts.append(ParameterStep(number, -1, version, after, -1, -1, *around))
                continue
            left = gradient_before.live()
            gradient = gradient_before.number if left is None else enter(left, -1, now).tensor
            gradients.append(gradient)
            lives += [(number, left)] if left is not None and error else []
            if not error or after != version:
                writes.append(Write(number, storage_of(parameter), version, after))
            at_end = gradient_before.version if left is None else version_of(left)
            outcome = opened.begun(parameter), opened.still(parameter)
            facts.append(
                ParameterStep(number, gradient, version, after, gradient_before.version, at_end, *around, *outcome)
            )
        op = recording.append(
            f"{kind}.step", tuple(gradients), writes=tuple(writes), traits=STEP, site=site, error=error
        )
        if recording.values is not None:
            recording.values.stepped(op, [write.tensor for write in writes])
        step = Step(
            op,
            opened.optimizer,
            op,
            opened.site,
            tuple(facts),
            error,
            opened.start,
            opened.rates,
            opened.closure,
            opened.hooked,
        )
        if opened.watch is not None and not error:
            dropped = opened.watch.dropped(_left_still(step))
            if dropped:
                site = list(dropped.values())[-1]
                recording.events.append(UpdateDropped(op, site, opened.optimizer, kind, tuple(dropped)))
        if opened.states is not None and not error:
            self._note_left(opened, opened.states, op, kind)
        if error:
            note_layouts(recording, opened.optimizer, kind, opened.site, error, lives)
        recording.steps.append(step)
        self._suspect(step)

    def _note_left(self, opened: OpenStep, states: StateWatch, op: int, kind: str) -> None:
        """Averages that the step computed and did not keep. A new optimizer that gets a number begins anew."""
        recording, number = self.recording, opened.optimizer
        born = self._born.setdefault(number, {})
        for left, parameters in states.left(born).items():
            ids = tuple(map(recording.id_of, parameters))
            recording.events.append(
                AverageLeft(op, left.site, number, kind, ids, left.entry, left.maker, left.scaled, left.added)
            )
        born |= states.born()

    def _suspect(self, step: Step) -> None:
        """Watch the next step of an optimizer that moves no version counter of some parameters that have gradients.

        Torch's own write to all or to none, and a fused one moves no counter.
        """
        partly = step.counted and self.recording.optimizers[step.optimizer].module.startswith("torch.optim.")
        if partly or not _left_still(step):
            self._still[step.optimizer] = 0
        else:
            self._still.setdefault(step.optimizer, _WATCHED)


def _left_still(step: Step) -> frozenset[int]:
    """The parameters with a gradient whose version counters the step did not move."""
    return frozenset(p.tensor for p in step.parameters if p.gradient >= 0 and p.version_after <= p.version_before)
