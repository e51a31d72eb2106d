"""Leaves that require grad and are plain attributes of a module: what ``parameters()`` does not know."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from autograd_inspector.capture.lines.attributes import items_of, own_attributes
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import is_leaf, needs_grad
from autograd_inspector.model.program_events import BareTensorHeld

_NO_TENSORS = Kinds(type(None), bool, int, float, str, tuple, list, set, dict, OrderedDict)
"""What most modules have and nothing else: to look at each value for itself takes ten times as long."""


class BareTensors:
    """Notes each attribute once, when the module that has it is looked at."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._told: set[tuple[int, str, str]] = set()

    def look(self, root: int, path: str, module: nn.Module) -> None:
        """Note what a module has, which stands at a path of a root."""
        for name, tensor in _held(module):
            key = root, path, name
            if key not in self._told:
                self._told.add(key)
                recording = self.recording
                recording.events.append(
                    BareTensorHeld(len(recording.ops), -1, type(module).__name__, name, recording.id_of(tensor))
                )

    def fold(self) -> None:
        """Roots are numbered anew: what is noted again is noted twice."""
        self._told.clear()


def tensors_held(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """(attribute, tensor) of those that are plain attributes of a module."""
    attributes: dict[Any, Any] = own_attributes(module) or {}
    try:
        if _NO_TENSORS.issuperset(map(type, dict.values(attributes))):
            return
    except RuntimeError:  # Another thread changes it.
        pass
    for name, value in items_of(attributes):
        if issubclass(type(value), Tensor) and type(name) is str:
            yield name, value


def _held(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    return ((name, value) for name, value in tensors_held(module) if needs_grad(value) and is_leaf(value))
