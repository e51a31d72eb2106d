"""Optimizers: which is which, who made them, and what they hold."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Collection
from typing import Any

from msgspec.structs import replace
from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.lines.attributes import module_of
from autograd_inspector.capture.observers.optimizers.groups import entries, groups_of, parameters_of, rate_of, table
from autograd_inspector.capture.observers.optimizers.live_states import TakenProbe
from autograd_inspector.capture.observers.optimizers.loading import Loads
from autograd_inspector.capture.observers.optimizers.modes import Modes
from autograd_inspector.capture.observers.optimizers.own_methods import codes_of
from autograd_inspector.capture.observers.optimizers.placement import Rows, settings_of
from autograd_inspector.capture.observers.optimizers.schedulers import Schedulers
from autograd_inspector.capture.observers.optimizers.spread import is_share, state_of
from autograd_inspector.capture.observers.optimizers.steps import Steps
from autograd_inspector.capture.observers.optimizers.stray_options import StrayOptions
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import is_leaf
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around, observed
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import (
    AverageLeft,
    BareTensorHeld,
    ModelContained,
    ModeSwitched,
    ModuleCleared,
    ModuleCopied,
    ModuleExchanged,
    ModuleReattached,
    ModuleRepeated,
    NamesUnmatched,
    OptimizerCreated,
    OptimizerModeMet,
    OptionStray,
    ParametersRefused,
    PlainTensorHeld,
    SchedulerLoaded,
    SchedulerMade,
    SchedulerSaved,
    SchedulerStepped,
    StateSaved,
    StepLeftEarly,
    StepNested,
    SteppedAccumulating,
    UpdateDropped,
    ZeroGradCalled,
)

_SWAP_NOTHING = (
    ZeroGradCalled,
    OptimizerModeMet,
    ModelContained,
    ModeSwitched,
    ModuleCleared,
    ModuleCopied,
    ModuleExchanged,
    ModuleReattached,
    ModuleRepeated,
    BareTensorHeld,
    PlainTensorHeld,
    NamesUnmatched,
    StepLeftEarly,
    StepNested,
    SteppedAccumulating,
    UpdateDropped,
    AverageLeft,
    SchedulerLoaded,
    SchedulerMade,
    SchedulerSaved,
    SchedulerStepped,
    OptionStray,
    StateSaved,
)
"""Events that leave the state where it is."""


class Optimizers:
    """Knows every torch.optim.Optimizer that the program makes, loads, clears or steps."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self.recording = recording
        self._guard = guard
        self._by_address: dict[int, tuple[weakref.ref[Optimizer], int]] = {}
        self._met = 0
        self._dirty: set[int] = set()
        self._making: set[int] = set()
        """Those whose constructor runs, by Python's ids."""
        self._lives: dict[int, tuple[tuple[int, ...], ...]] = {}
        """Python's ids of the parameters of each group at the last look; the optimizer keeps those alive."""
        self._marks: dict[int, int] = {}
        """What the state was at the last look, to notice what the program exchanges by hand."""
        self._events = 0
        """How many had been told at the last step."""
        self.lasting: set[int] = set()
        """Those that are alive until the capture is over: what they hold is read then, and not after their steps."""
        self.steps = Steps(recording, guard, self)
        self._loads = Loads(recording, self)
        self._schedulers = Schedulers(recording, guard, self)
        self.options = self.steps.options = StrayOptions(recording)
        self.modes = Modes(recording)
        self.adopt: Callable[[list[Tensor]], None] = lambda parameters: None
        """Told the parameters of each optimizer met, so that whoever knows modules can name them."""
        self.look_around: Callable[[], None] = lambda: None
        """Called where an optimizer got no parameters: which modules are there?"""

    def install(self, into: Installation) -> None:
        """The step hooks and the observers of construction and loading."""
        self.recording.stacks.watch = self.recording.state_owners.meet
        self.steps.install(into)
        self._schedulers.install(into)
        for name, before, after in (
            ("__init__", self._begun, self._created),
            ("add_param_group", _handled, self._grown),
            ("load_state_dict", self._loads.begin, self._loads.end),
            ("zero_grad", None, self._zeroed),
        ):
            observed(into, Optimizer, name, before=before, after=after, guard=self._guard)
        around(into, Optimizer, "state_dict", TakenProbe(self._guard, self._saved))

    def close(self) -> None:
        """Let go of the steps that never came back."""
        self.steps.close()

    def id_of(self, optimizer: Optimizer) -> int:
        """The number of an optimizer, met now if never before."""
        earlier_number = self.number_of(optimizer)
        if earlier_number is not None:
            return earlier_number
        number = self._met
        kind = type(optimizer)
        self.recording.optimizers[number] = OptimizerRecord(number, kind.__name__, module_of(kind))
        self.recording.steppers.setdefault((module_of(kind), kind.__name__), codes_of(kind))
        self.recording.state_owners.met(optimizer, number)
        self.options.met(optimizer, number)
        made, address = (weakref.ref(optimizer), number), id(optimizer)
        self._by_address[address], self._met = made, number + 1  # Now that there is a record of that number.
        self._dirty.add(number)
        self._refresh(optimizer, number)
        self.adopt(parameters_of(optimizer))
        return number

    def number_of(self, optimizer: Optimizer) -> int | None:
        """The number of an optimizer that was met before."""
        ref_and_number = self._by_address.get(id(optimizer))
        return ref_and_number[1] if ref_and_number is not None and ref_and_number[0]() is optimizer else None

    def alive(self) -> list[tuple[int, Optimizer]]:
        """The optimizers of the capture that the program still holds."""
        pairs = [(number, ref()) for ref, number in self._by_address.values()]
        return [(number, optimizer) for number, optimizer in pairs if optimizer is not None]

    def _refresh(self, optimizer: Optimizer, number: int) -> None:
        """Read the groups; their parameters only where they are others than at the last look."""
        groups = groups_of(optimizer)
        lives = tuple([tuple(map(id, group["params"])) for group in groups])
        record = self.recording.optimizers[number]
        parameters = record.parameters
        if self._lives.get(number) != lives:
            self._lives[number] = lives
            parameters = tuple([tuple(map(self.recording.id_of, group["params"])) for group in groups])
            for ids in parameters:
                self.recording.registry.parameters.update(ids)
        self.recording.optimizers[number] = replace(
            record, parameters=parameters, groups=tuple(map(settings_of, groups))
        )
        self.modes.look_at(optimizer, number)

    def _begun(self, optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        self._making.add(id(optimizer))

    def _created(self, optimizer: Optimizer, _args: Any, _kwargs: Any, _before: Any) -> None:
        self._making.discard(id(optimizer))
        if not groups_of(optimizer):
            self._refused_all(optimizer)
            return
        if is_share(optimizer):
            return  # Its parameters and its state are those of the optimizer that makes it.
        number = self.id_of(optimizer)
        recording = self.recording
        recording.optimizers[number] = replace(
            recording.optimizers[number], site=recording.stacks.here(0), created_at=len(recording.ops)
        )
        held, rates = recording.optimizers[number].held, tuple(map(rate_of, groups_of(optimizer)))
        recording.events.append(
            OptimizerCreated(
                len(recording.ops), recording.stacks.here(0), number, type(optimizer).__name__, held, rates
            )
        )

    def _grown(self, optimizer: Optimizer, args: Any, kwargs: Any, handled: BaseException | None) -> None:
        if sys.exc_info()[1] is not handled:
            self._refused(optimizer, args[1] if len(args) > 1 else kwargs.get("param_group"))
            return
        number = self.number_of(optimizer)
        if number is not None:
            self.changed(optimizer, number)

    def _refused(self, optimizer: Optimizer, group: Any) -> None:
        """The group held a non-leaf, or a parameter that another group has: note which. It may be no group at all."""
        present = {id(p) for p in parameters_of(optimizer)}
        tensors = [p for p in entries(table(group).get("params")) if issubclass(type(p), Tensor)]
        refused = [p for p in tensors if id(p) in present or not is_leaf(p)]
        self.adopt(refused)
        recording = self.recording
        ids = tuple(recording.id_of(p) for p in refused)
        added = id(optimizer) not in self._making
        recording.events.append(
            ParametersRefused(len(recording.ops), recording.stacks.here(0), type(optimizer).__name__, ids, added)
        )

    def _refused_all(self, optimizer: Optimizer) -> None:
        """The constructor raised, and not for a group: it was given nothing, or settings that it does not take."""
        recording = self.recording
        last = recording.events[-1] if recording.events else None
        if isinstance(last, ParametersRefused) and last.at == len(recording.ops):
            return
        self.look_around()
        recording.events.append(
            ParametersRefused(len(recording.ops), recording.stacks.here(0), type(optimizer).__name__)
        )

    def _zeroed(self, optimizer: Optimizer, _args: Any, _kwargs: Any, _before: Any) -> None:
        if self.recording.active():
            number = self.id_of(optimizer)
            recording = self.recording
            kind = type(optimizer).__name__
            recording.events.append(ZeroGradCalled(len(recording.ops), recording.stacks.here(0), number, kind))

    def _saved(self, optimizer: Optimizer, state_dict: Any) -> None:
        self._loads.taken(state_dict)
        if self.recording.active():
            number, recording = self.id_of(optimizer), self.recording
            event = StateSaved(len(recording.ops), recording.stacks.here(0), number, type(optimizer).__name__)
            recording.events.append(event)

    def fold(self, recorded: Collection[int], events: int) -> None:
        """Forget the optimizers that are gone and that no record tells of; so many of the old events are gone."""
        self._events = max(self._events - events, 0)
        recording = self.recording
        # Not by what is known: another optimizer may have been made at the address of one that is gone.
        kept = {number for number, _ in self.alive()}.union(recorded)
        for number in [number for number in recording.optimizers if number not in kept]:
            for by_number in (recording.optimizers, recording.rows, recording.left_out, self._lives, self._marks):
                by_number.pop(number, None)
            self._dirty.discard(number)
        self._by_address = {
            key: ref_and_number
            for key, ref_and_number in self._by_address.items()
            if ref_and_number[1] in recording.optimizers
        }
        recording.state_owners.fold(recording.optimizers)
        self.modes.fold(recording.optimizers)

    # --- what they hold ------------------------------------------------------------------------------------------

    def changed(self, optimizer: Optimizer, number: int) -> None:
        """What the optimizer holds is no longer what was read: read its groups now, its state at the next step."""
        self._refresh(optimizer, number)
        self._dirty.add(number)

    def changed_since(self, optimizer: Optimizer, number: int) -> None:
        """Before a step: read the groups, and tell whether anything may have moved since the last look.

        What moved is read when the step is over, or has failed: until then nobody asks.
        """
        self._refresh(optimizer, number)
        recent = self.recording.events[self._events :]
        self._events += len(recent)
        if not all(isinstance(event, _SWAP_NOTHING) for event in recent):
            self._dirty.update(met_number for _, met_number in self._by_address.values())
        if number not in self._dirty and self._marks.get(number) != _mark(optimizer):
            self._dirty.add(number)

    def look(self, optimizer: Optimizer, number: int) -> None:
        """Read the placement again if it may have changed since the last look."""
        if number in self._dirty and number not in self.lasting:
            self.snapshot(optimizer, number)
            self._dirty.discard(number)

    def snapshot(self, optimizer: Optimizer, number: int) -> None:
        """Read where this optimizer's parameters, gradients and state live now."""
        rows = Rows(self.recording, optimizer, number)
        self.recording.rows[number], self.recording.left_out[number] = rows.rows, rows.note(type(optimizer).__name__)
        self._marks[number] = _mark(optimizer)


def _handled(_optimizer: Optimizer, _args: Any, _kwargs: Any) -> BaseException | None:
    """The exception that was being handled when the call began: what is raised later is the call's own."""
    return sys.exc_info()[1]


def _mark(optimizer: Optimizer) -> int:
    """Another number when some state tensor is another object: by identity, which costs next to nothing."""
    return hash(
        tuple(
            [
                id(value)
                for state in state_of(optimizer).values()
                if issubclass(type(state), dict)
                for value in dict.values(state)
            ]
        )
    )
