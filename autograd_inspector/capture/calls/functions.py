"""Calls that no TorchFunctionMode shows: custom autograd.Functions, inference mode, NumPy in, collectives."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function
from torch.nn import Parameter

from autograd_inspector.capture.attributes import is_leaf, needs_grad, version_of
from autograd_inspector.capture.calls.applied import Applied
from autograd_inspector.capture.calls.ops import gather
from autograd_inspector.capture.calls.regions import Regions
from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.patches import around, observed, replaced
from autograd_inspector.capture.pauses import Pause
from autograd_inspector.capture.tape import Tape
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

    def __init__(self, tape: Tape, regions: Regions, guard: Guard) -> None:
        self.tape = tape
        self.regions = regions
        self._guard = guard

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put the wrappers in place, and the originals back on exit."""
        with ExitStack() as stack:
            stack.enter_context(around(Function, "apply", Applied(self.tape, self.regions, self._guard)))
            for method, after in (("__enter__", self._entered), ("__exit__", self._left)):
                stack.enter_context(observed(torch.inference_mode, method, after=after, guard=self._guard))
            stack.enter_context(_through(torch, "from_numpy", self._from_numpy))
            stack.enter_context(self._parameters())
            if dist.is_available():
                for name in _COLLECTIVES:
                    if hasattr(dist, name):
                        stack.enter_context(_through(dist, name, functools.partial(self._collective, name)))
            yield

    def _entered(self, *_: Any) -> None:
        if self.tape.active():
            self.regions.enter("torch.inference_mode()")

    def _left(self, *_: Any) -> None:
        if self.tape.active():
            self.regions.leave()

    @contextmanager
    def _parameters(self) -> Iterator[None]:
        """Note where ``nn.Parameter(t)`` makes a new leaf of a tensor that has a history."""
        original = Parameter.__new__

        @functools.wraps(original)
        def make(cls: type[Parameter], *args: Any, **kwargs: Any) -> Any:
            result = original(cls, *args, **kwargs)
            data = args[0] if args else kwargs.get("data")
            if isinstance(data, Tensor) and self.tape.here() and self.tape.active():
                self._guard(self._wrapped, data, result)
            return result

        with replaced(Parameter, "__new__", staticmethod(make)):
            yield

    def _wrapped(self, data: Tensor, result: Tensor) -> None:
        if not needs_grad(data) or is_leaf(data):
            return
        tape = self.tape
        site = tape.stacks.here(0)
        tape.changes.append(Change(len(tape.ops), "wrapped", "nn.Parameter", site, (tape.id_of(result),)))

    def _from_numpy(self, original: Callable[..., Any], array: Any) -> Any:
        result = original(array)
        if self.tape.here() and self.tape.active():
            self._guard(self._arrived, array, result)
        return result

    def _arrived(self, array: Any, result: Tensor) -> None:
        tape = self.tape
        entry = tape.registry.enter(result, len(tape.ops), len(tape.ops))
        index = tape.append("from_numpy", outputs=(entry.tensor,), site=tape.stacks.here(0))
        tape.exports.came_back(tape, index, (array,))

    def _collective(self, name: str, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not (self.tape.here() and self.tape.active()):
            return original(*args, **kwargs)
        started = self._guard(_versions, (args, kwargs))
        # torch.distributed hands some collectives to the torch-function mode as well.
        self.tape.pause(Pause(sys._getframe()))
        try:
            result = original(*args, **kwargs)
        finally:
            self.tape.go_on(sys._getframe())
        if started is not None:
            self._guard(self._communicated, name, *started)
        return result

    def _communicated(self, name: str, inputs: list[Tensor], before: list[int]) -> None:
        """Everything but the local contribution is written, whether or not a counter moved."""
        tape = self.tape
        entries = [tape.registry.enter(t, -1, len(tape.ops)) for t in inputs]
        alive = any(e.requires_grad for e in entries)
        written = [
            e for e, t, b in zip(entries, inputs, before, strict=True) if version_of(t) != b or not e.requires_grad
        ]
        writes = tuple(Write(e.tensor, e.storage, -1, -1) for e in written)
        traits = int(Trait.COLLECTIVE) | (int(Trait.CUT) if alive else 0)
        tape.append(
            name,
            tuple(e.tensor for e in entries),
            tuple(e.tensor for e in written),
            writes,
            traits,
            tape.stacks.here(0),
            versions=tuple(before),
        )


def _versions(values: Any) -> tuple[list[Tensor], list[int]]:
    inputs: list[Tensor] = []
    gather(values, inputs)
    return inputs, [version_of(t) for t in inputs]


@contextmanager
def _through(owner: Any, name: str, wrapper: Callable[..., Any]) -> Iterator[None]:
    """A module's function, called as ``wrapper(original, ...)``."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    with replaced(owner, name, stand_in):
        yield
