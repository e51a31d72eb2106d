"""Custom autograd.Functions: each application is one op, which no torch-function mode shows."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function

from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.custom_functions import defined_at, marked_at
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.calls.bracket import Before, look, record
from autograd_inspector.capture.observers.calls.kept_outputs import kept_outputs, set_at
from autograd_inspector.capture.observers.calls.regions import Place, Regions
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import node_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.recursion import RecursionLimit
from autograd_inspector.messages import text_of
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import FunctionRefused, OnceDifferentiable, OutputKeptOnContext
from autograd_inspector.model.torch_errors import TorchError, says

INNER, FUNCTION = int(Trait.INNER), int(Trait.FUNCTION)


class _OpenApply:
    """One that has begun, and what to restore at its end."""

    def __init__(self, function: type[Function], traits: int, place: Place, limit: int) -> None:
        self.function = function
        self.traits = traits
        self.place = place
        self.limit = limit
        self.started: Before | None = None


class ApplyProbe:
    """In ``Function.apply``. The ops of the forward get the trait INNER.

    ``frames``: so many of ours lie on the stack while a forward runs, where another may be applied.
    """

    def __init__(self, recording: Recording, regions: Regions, guard: Guard, limit: RecursionLimit) -> None:
        self.frames = 0
        self._recording = recording
        self._regions = regions
        self._guard = guard
        self._limit = limit
        self._cycles: set[tuple[type[Function], str]] = set()

    def before(self, seen: list[_OpenApply], cls: type[Function], /, *args: Any, **kwargs: Any) -> None:
        """A Function is about to be applied."""
        recording = self._recording
        if not (recording.here() and recording.active()):
            return
        call = _OpenApply(cls, recording.traits, self._regions.place(), self._limit.ours)
        seen += (call,)
        if self.frames:
            self._limit.put(call.limit + self.frames)
        call.started = self._guard.run(self._starts, args, kwargs)
        recording.traits = call.traits | INNER

    def after(self, seen: list[_OpenApply], result: Any, /) -> Any:
        """It returned."""
        for call in seen:
            self._left(call)
            started, call.started = call.started, None
            if started is not None:
                self._guard.run(self._ended, call.function, started, result)
        return result

    def failed(self, seen: list[_OpenApply], error: BaseException, /) -> None:
        """It raised."""
        for call in seen:
            self._left(call)
            started, call.started = call.started, None
            if started is not None:
                self._guard.run(self._raised, call.function, started, error)

    def _left(self, call: _OpenApply) -> None:
        self._recording.traits = call.traits
        if self.frames:
            self._limit.put(call.limit)
        self._guard.run(self._regions.back_to, call.place)

    def _starts(self, *arguments: Any) -> Before:
        inputs: list[Tensor] = []
        gather(arguments, inputs)
        return look(self._recording, inputs)

    def _raised(self, cls: type[Function], started: Before, error: BaseException) -> None:
        recording, text = self._recording, text_of(error)
        site = recording.stacks.here(0)
        if says(text, TorchError.SETUP_CONTEXT_MISSING):
            defined = defined_at(recording.stacks, cls.forward)
            recording.events.append(FunctionRefused(len(recording.ops), defined, cls.__name__))
        record(recording, started, _name_of(cls), None, site=site, traits=FUNCTION, error=text)

    def _ended(self, cls: type[Function], started: Before, result: Any) -> None:
        recording = self._recording
        if cls.__name__ not in recording.functions:
            recording.functions[cls.__name__] = code_of(cls.backward)
            marked = marked_at(recording.stacks, cls.backward)
            if marked >= 0:
                recording.events.append(OnceDifferentiable(len(recording.ops), marked, cls.__name__))
        record(
            recording,
            started,
            _name_of(cls),
            result,
            site=recording.stacks.here(0),
            traits=FUNCTION,
            returns_writes=True,
        )
        self._note_cycle(cls, result)

    def _note_cycle(self, cls: type[Function], result: Any) -> None:
        """Once a Function and attribute, note that its node holds its own result."""
        recording = self._recording
        outputs: list[Tensor] = []
        gather((result,), outputs)
        node = next((node for node in map(node_of, outputs) if node is not None), None)
        for name in kept_outputs(node, outputs):
            if (cls, name) not in self._cycles:
                self._cycles.add((cls, name))
                place = set_at(cls, name)
                site = recording.stacks.here(0) if place is None else recording.stacks.of_code(*place)
                recording.events.append(OutputKeptOnContext(len(recording.ops) - 1, site, cls.__name__, name))


def _name_of(cls: type[Function]) -> str:
    return f"{cls.__name__}.apply"
