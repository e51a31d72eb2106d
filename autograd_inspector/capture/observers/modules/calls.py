"""The module calls that the program is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from autograd_inspector.capture.lines.attributes import entries_of, module_of
from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.observers.modules.conversions import Conversions
from autograd_inspector.capture.observers.modules.hooks import ModuleHooks
from autograd_inspector.capture.observers.modules.models import Models
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import own_parameters
from autograd_inspector.capture.torch_private.resolving import read_own
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import observed
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import ModuleCleared


class Modules(Models):
    """Follows which module call the program is in."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        super().__init__(recording, guard)
        self._conversions = Conversions(recording, guard, self)
        self._stack: list[tuple[int, nn.Module]] = []
        self.used: Callable[[], None] = lambda: None
        """Called before a model is called or saved."""
        self.given: Callable[[int, nn.Module, tuple[Any, ...]], None] | None = None
        """Told what the outermost call of a model is given."""
        self.entered: Callable[[nn.Module, str, int, tuple[Any, ...]], None] | None = None
        self.came: Callable[[nn.Module, Any], None] | None = None
        """Told of each call: its path and number for its module, what it is given, and what it returns."""

    def install(self, into: Installation) -> None:
        """What observes registration, conversion and loading."""
        self._conversions.install(into)
        self._switches.install(into)
        ModuleHooks(self.recording, self._guard, self.path_of).install(into)
        observed(into, nn.Module, "state_dict", before=self._saved, guard=self._guard)
        observed(into, nn.Module, "zero_grad", before=self._cleared, guard=self._guard)

    def _saved(self, _module: nn.Module, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
        if self.recording.active():
            self.used()

    def _cleared(self, module: nn.Module, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
        recording = self.recording
        if recording.active():
            tensors = tuple(map(recording.id_of, parameters_of(module)))
            at, site = len(recording.ops), recording.stacks.here(0)
            recording.events.append(ModuleCleared(at, site, type(module).__name__, tensors))

    def close(self) -> None:
        """Let go of the modules whose call never came back."""
        self._stack.clear()
        self._hints.clear()

    @property
    def depth(self) -> int:
        """How many calls are open."""
        return len(self._stack)

    @property
    def innermost(self) -> nn.Module | None:
        """The module whose call began last of those that are open."""
        return self._stack[-1][1] if self._stack else None

    def enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A call of that module begins."""
        if self.recording.recording or self.recording.active():
            self._guard.run(self._push, module, args, kwargs)

    def _push(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recording, outermost_call = self.recording, not self._stack
        if outermost_call:
            self.used()
            recording.registry.given_to_model((*args, *kwargs.values()) if kwargs else args)
            if self._stale:
                self.look_again()
        place = self._met_modules.place_of(module)
        if place is None or place.gone:
            place = self.place_of(module)
        root, path = place
        self.own_switches.called(module, place)
        if outermost_call:
            if self._switches.untold:
                self._meet_evaluated()
            self._switches.called(root.number, path)
            if self.given is not None:
                self.given(root.number, module, (*args, *kwargs.values()))
        nth = self._met_modules.nth_call(module)
        calls, ops = recording.calls, recording.ops
        number, at = calls.start + len(calls.recent), ops.start + len(ops.recent)  # At each call: `len` costs more.
        # Of the module's own attributes only: a property or `__getattr__` would be the program's code.
        inplace, training = read_own(module, "inplace") is True, read_own(module, "training") is not False
        site = recording.stacks.here(0) if outermost_call or inplace or not path else -1
        outer = recording.call
        calls.append(
            ModuleCall(number, path, type(module).__name__, root.number, nth, outer, site, inplace, at, training)
        )
        self._stack.append((outer, module))
        recording.call = number
        if self.entered is not None:
            self.entered(module, path, nth, (*args, *kwargs.values()))

    def returned(self, depth: int, result: Any) -> None:
        """The call outside which so many are open has returned that."""
        if len(self._stack) == depth + 1 and self.recording.active():
            self._guard.run(self._measure, self._stack[depth][1], result)

    def _measure(self, module: nn.Module, result: Any) -> None:
        """Have it measured, where the module called no other and is more than one of torch's functions."""
        if self.came is not None:
            self.came(module, result)
        recording = self.recording
        call = recording.calls[recording.call]
        if recording.vitals is not None and len(recording.calls) == call.id + 1 and _computes(module):
            recording.vitals.returned(call, result)

    def leave(self, depth: int) -> None:
        """The call outside which so many are open has ended, and with it those inside."""
        stack, registry = self._stack, self.recording.registry
        if len(stack) > depth:
            if registry.new_parameters:
                self._guard.run(self._name_exchanged, stack[depth][1])
                if not depth:
                    registry.new_parameters.clear()
            self.recording.call = stack[depth][0]
            del stack[depth:]

    def open_calls(self) -> list[int]:
        """The calls that the program is in, and those outside them."""
        return [outer for outer, _ in self._stack]


def _computes(module: nn.Module) -> bool:
    """Whether it has parameters, or is the program's own; a module of torch's without any is one of its functions."""
    own = any(parameter is not None for _, parameter in entries_of(own_parameters(module)))
    return own or not module_of(type(module)).startswith("torch.nn.")
