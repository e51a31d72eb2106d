"""Calls that no TorchFunctionMode shows: custom autograd.Functions, inference mode, NumPy in, collectives."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function
from torch.nn import Parameter

from autograd_inspector.capture.attributes import is_leaf, needs_grad, version_of
from autograd_inspector.capture.observers.calls.applied import Applied
from autograd_inspector.capture.observers.calls.ops import gather
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.capture.undisturbed.pauses import Pause
from autograd_inspector.model.event import Change
from autograd_inspector.model.op import Trait, Write

_COLLECTIVES = [
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "broadcast",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "gather",
    "scatter",
    "all_to_all",
    "all_to_all_single",
    "recv",
]


class Unseen:
    """Observes, for one capture, the calls that bypass the torch-function mode."""

    def __init__(self, recording: Recording, regions: Regions, guard: Guard) -> None:
        self.recording = recording
        self.regions = regions
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Put the probes and wrappers in place."""
        around(into, Function, "apply", Applied(self.recording, self.regions, self._guard))
        around(into, torch.inference_mode, "__enter__", _Entered(self._guard, self.regions))
        around(into, torch.inference_mode, "__exit__", _Left(self._guard, self.regions))
        into.replace(torch, "from_numpy", _through(torch.from_numpy, self._from_numpy))
        into.replace(Parameter, "__new__", staticmethod(_through(Parameter.__new__, self._parameter)))
        for name in _COLLECTIVES if dist.is_available() else ():
            if hasattr(dist, name):
                into.replace(dist, name, _through(getattr(dist, name), functools.partial(self._collective, name)))

    def _parameter(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Note where ``nn.Parameter(t)`` makes a new leaf of a tensor that has a history."""
        result = original(*args, **kwargs)
        data = args[1] if len(args) > 1 else kwargs.get("data")
        if isinstance(data, Tensor) and self.recording.here() and self.recording.active():
            self._guard.run(self._wrapped, data, result)
        return result

    def _wrapped(self, data: Tensor, result: Tensor) -> None:
        if not needs_grad(data) or is_leaf(data):
            return
        recording = self.recording
        site = recording.stacks.here(0)
        recording.changes.append(
            Change(len(recording.ops), "wrapped", "nn.Parameter", site, (recording.id_of(result),))
        )

    def _from_numpy(self, original: Callable[..., Any], array: Any) -> Any:
        result = original(array)
        if self.recording.here() and self.recording.active():
            self._guard.run(self._arrived, array, result)
        return result

    def _arrived(self, array: Any, result: Tensor) -> None:
        recording = self.recording
        entry = recording.registry.enter(result, len(recording.ops), len(recording.ops))
        index = recording.append("from_numpy", outputs=(entry.tensor,), site=recording.stacks.here(0))
        recording.exports.came_back(recording, index, (array,))

    def _collective(self, name: str, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not (self.recording.here() and self.recording.active()):
            return original(*args, **kwargs)
        started = self._guard.run(_versions, (args, kwargs))
        # torch.distributed hands some collectives to the torch-function mode as well.
        self.recording.pause(Pause(sys._getframe()))
        try:
            result = original(*args, **kwargs)
        finally:
            self.recording.go_on(sys._getframe())
        if started is not None:
            self._guard.run(self._communicated, name, *started)
        return result

    def _communicated(self, name: str, inputs: list[Tensor], before: list[int]) -> None:
        """Everything but the local contribution is written, whether or not a counter moved."""
        recording = self.recording
        entries = [recording.registry.enter(t, -1, len(recording.ops)) for t in inputs]
        alive = any(e.requires_grad for e in entries)
        written = [
            e for e, t, b in zip(entries, inputs, before, strict=True) if version_of(t) != b or not e.requires_grad
        ]
        writes = tuple(Write(e.tensor, e.storage, -1, -1) for e in written)
        traits = int(Trait.COLLECTIVE) | (int(Trait.CUT) if alive else 0)
        recording.append(
            name,
            tuple(e.tensor for e in entries),
            tuple(e.tensor for e in written),
            writes,
            traits,
            recording.stacks.here(0),
            versions=tuple(before),
        )


class _Left:
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


class _Entered(_Left):
    """A probe where ``torch.inference_mode()`` is entered."""

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was. If an interrupt strikes now, nobody will leave it."""
        try:
            self._follow(self._regions.enter, "torch.inference_mode()")
        except BaseException:
            seen[0].__exit__(None, None, None)
            raise
        return result


def _versions(values: Any) -> tuple[list[Tensor], list[int]]:
    inputs: list[Tensor] = []
    gather(values, inputs)
    return inputs, [version_of(t) for t in inputs]


def _through(original: Any, wrapper: Callable[..., Any]) -> Any:
    """A function that is called as ``wrapper(original, ...)``."""

    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    return stand_in
