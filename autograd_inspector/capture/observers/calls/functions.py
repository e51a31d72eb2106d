"""Calls that no TorchFunctionMode shows: custom autograd.Functions, inference mode, new parameters, NumPy in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import Parameter

from autograd_inspector.capture.observers.calls.applied import ApplyProbe
from autograd_inspector.capture.observers.calls.collectives import Collectives
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import is_leaf, needs_grad
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.capture.undisturbed.recursion import RecursionLimit
from autograd_inspector.messages import text_of
from autograd_inspector.model.program_events import ParameterWrapped
from autograd_inspector.model.torch_errors import TorchError, says


class Unseen:
    """Observes, for one capture, the calls that bypass the torch-function mode."""

    def __init__(self, recording: Recording, regions: Regions, guard: Guard, limit: RecursionLimit) -> None:
        self.recording = recording
        self.regions = regions
        self._guard = guard
        self._applied = ApplyProbe(recording, regions, guard, limit)

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        self._applied.frames = around(into, Function, "apply", self._applied)
        around(into, torch.inference_mode, "__enter__", _EnteringProbe(self._guard, self.regions))
        around(into, torch.inference_mode, "__exit__", _LeavingProbe(self._guard, self.regions))
        around(into, torch, "from_numpy", _MakingProbe(self._guard, self._arrived))
        around(into, Parameter, "__new__", _MakingProbe(self._guard, self._wrapped))
        Collectives(self.recording, self._guard).install(into)

    def _wrapped(self, result: Tensor, _cls: type, data: Any = None, *_: Any, **__: Any) -> None:
        """Note where ``nn.Parameter(t)`` makes a new leaf of a tensor that has a history."""
        if not isinstance(data, Tensor) or not needs_grad(data) or is_leaf(data):
            return
        recording = self.recording
        site = recording.stacks.here(0)
        recording.events.append(ParameterWrapped(len(recording.ops), site, recording.id_of(result)))

    def _arrived(self, result: Any, array: Any) -> None:
        recording = self.recording
        recording.registry.from_array(result)
        entry = recording.registry.enter(result, len(recording.ops), len(recording.ops))
        index = recording.append("from_numpy", outputs=(entry.tensor,), site=recording.stacks.here(0))
        recording.exports.came_back(recording, index, (array,))


class _MakingProbe:
    """A probe in what makes a tensor: tells its result, and what it was given."""

    def __init__(self, guard: Guard, note: Callable[..., None]) -> None:
        self._guard = guard
        self._note = note

    def before(self, seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        """It is about to."""
        seen += (args, kwargs)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It has."""
        if self._guard.recording.here() and self._guard.recording.active():
            self._guard.run(self._tell, result, *seen)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It raised: of an integer tensor there is no parameter."""
        if isinstance(error, Exception) and self._guard.recording.here() and self._guard.recording.active():
            self._guard.run(self._refused, text_of(error), *seen)

    def _refused(self, text: str, args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
        data = args[1] if len(args) > 1 else None
        if says(text, TorchError.NOT_FLOATING) and isinstance(data, Tensor):
            recording = self._guard.recording
            recording.append("Parameter", (recording.id_of(data),), site=recording.stacks.here(0), error=text)

    def _tell(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._note(result, *args, **kwargs)


class _LeavingProbe:
    """A probe where a mode is left. It does nothing before that, lest an interrupt keep the program from leaving."""

    def __init__(self, guard: Guard, regions: Regions) -> None:
        self._guard = guard
        self._regions = regions

    def before(self, seen: list[Any], mode: Any, /, *_: Any) -> None:
        """It is about to be."""
        seen += (mode,)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was."""
        self._follow(self._regions.leave)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It was not."""

    def _follow(self, step: Callable[..., None], *args: Any) -> None:
        if self._guard.recording.here() and self._guard.recording.active():
            self._guard.run(step, *args)


class _EnteringProbe(_LeavingProbe):
    """A probe where ``torch.inference_mode()`` is entered."""

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was. If an interrupt strikes now, nobody will leave it."""
        try:
            self._follow(self._regions.enter, "torch.inference_mode()")
        except BaseException:
            seen[0].__exit__(None, None, None)
            raise
        return result
