"""Names that match nothing in a module: torch takes them without a word where it is not told to be strict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from autograd_inspector.capture.lines.attributes import items_of, looked_up, own_attributes
from autograd_inspector.capture.module_tree import named_buffers, named_parameters, parameters_of
from autograd_inspector.capture.recording.raw_records import OP_INPUTS
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import own_buffers, own_children, own_parameters
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import NamesUnmatched

_KEPT = 50
"""Of more names only the first are kept."""
_CALLS = 500
"""Calls with other names, or of other modules, that are looked at."""


class Unmatched:
    """Notes loads and functional calls whose names the module has not."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self.recording = recording
        self._guard = guard
        self._matched: set[tuple[int, int]] = set()
        """(Python's id of a module, hash of the names) of calls whose names all match."""
        self._told: set[tuple[int, int]] = set()
        """(site, hash of the names) of calls that are noted."""

    def install(self, into: Installation) -> None:
        """Put the probe in place. ``torch.nn.utils.stateless`` has the function under its older name."""
        for function in (torch.func.functional_call, nn.utils.stateless.functional_call):
            owner = sys.modules.get(function.__module__)
            if owner is not None and vars(owner).get("functional_call") is function:
                around(into, owner, "functional_call", _CallProbe(self._guard, self._called))

    def loaded(self, module: nn.Module, state_dict: Any, result: Any) -> None:
        """``load_state_dict`` returned: what it says itself about names."""
        missing, unexpected = (_names(getattr(result, name, ())) for name in ("missing_keys", "unexpected_keys"))
        if missing and unexpected and issubclass(type(state_dict), dict):
            tensors = tuple(map(self.recording.id_of, parameters_of(module)))
            given = max(dict.__len__(state_dict), len(unexpected))
            self._note(module, "load_state_dict", tensors, given, unexpected, missing)

    def _called(self, start: int, module: Any, given: Any) -> None:
        """A functional call is over that began at an op: note the names that had no effect."""
        tensors = _given(given)
        if not isinstance(module, nn.Module) or not tensors:
            return
        key = id(module), hash(tuple(tensors))
        if key in self._matched or len(self._matched) + len(self._told) > _CALLS:
            return
        unmatched = {name: tensor for name, tensor in tensors.items() if not _has(module, name)}
        if not unmatched:
            self._matched.add(key)
            return
        ids = tuple(self.recording.id_of(t) for t in unmatched.values() if issubclass(type(t), Tensor))
        ops = self.recording.ops
        read = {tensor for op in ops.between(max(start, ops.start), len(ops)) for tensor in op[OP_INPUTS]}
        own = [name for name, _ in (*named_parameters(module), *named_buffers(module)) if name not in tensors]
        told = self.recording.stacks.here(0), hash(tuple(unmatched))
        # A forward may take them by itself, from the attributes that they become.
        if own and told not in self._told and read.isdisjoint(ids):
            self._told.add(told)
            self._note(module, "functional_call", ids, len(tensors), list(unmatched), own)

    def _note(
        self, module: nn.Module, method: str, tensors: tuple[int, ...], given: int, names: list[str], own: list[str]
    ) -> None:
        recording, kind = self.recording, type(module).__name__
        counts = given, len(names), len(own)
        first = tuple(names[:_KEPT]), tuple(own[:_KEPT])
        site = recording.stacks.here(0)
        recording.events.append(NamesUnmatched(len(recording.ops), site, kind, method, tensors, *counts, *first))


def _given(value: Any) -> dict[str, Any]:
    """What a functional call is given, by name: a dictionary, or several."""
    parts: Iterable[Any] = (value,) if issubclass(type(value), dict) else ()
    if type(value) is list or type(value) is tuple:
        parts = [part for part in value if issubclass(type(part), dict)]
    return {name: tensor for part in parts for name, tensor in items_of(part) if type(name) is str}


def _has(module: nn.Module, name: str) -> bool:
    """Whether a module has a tensor of that name, or an attribute, whatever that is."""
    *path, last = name.split(".")
    for part in path:
        child = own_children(module).get(part)
        if not isinstance(child, nn.Module):
            return False
        module = child
    if last in own_parameters(module) or last in own_buffers(module) or looked_up(type(module), last) is not None:
        return True
    return last in (own_attributes(module) or ())


def _names(value: Any) -> list[str]:
    return [name for name in value if type(name) is str] if type(value) is list else []


class _CallProbe:
    """In a functional call: what it was given, of which module."""

    def __init__(self, guard: Guard, step: Callable[[int, Any, Any], None]) -> None:
        self._guard = guard
        self._step = step

    def before(self, seen: list[Any], module: Any, given: Any, /, *_: Any, **__: Any) -> None:
        """It is about to run."""
        recording = self._guard.recording
        if recording.here() and recording.active():
            seen += (len(recording.ops), module, given)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It returned."""
        if seen:
            call = tuple(seen)
            seen[:] = ()  # Once: an interrupt may strike when it is done.
            self._guard.run(self._step, *call)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It raised."""
