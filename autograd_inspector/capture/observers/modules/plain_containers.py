"""Lists and dictionaries of layers that are plain attributes of a module: what ``parameters()`` does not look into.

A list of parameters that the module has registered as well, as an LSTM keeps one, hides nothing.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from autograd_inspector.capture.lines.attributes import items_of, own_attributes
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.observers.modules.attribute_lines import made_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import TABLES
from autograd_inspector.model.program_events import LayersHeld

_CONTAINERS = Kinds(list, tuple, dict)
_MOST = 100
"""So many entries are looked at."""


class PlainContainers:
    """Notes each attribute once, when the module that has it is looked at."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._told: set[tuple[int, str, str]] = set()

    def look(self, root: int, path: str, module: nn.Module) -> None:
        """Note what a module has, which stands at a path of a root."""
        for name, value in items_of(own_attributes(module) or {}):
            if type(value) in _CONTAINERS and value and type(name) is str and name not in TABLES:
                key = root, path, name
                inside = () if key in self._told else _parameters(value)
                if inside and not set(map(id, inside)) <= set(map(id, parameters_of(module))):
                    self._told.add(key)
                    self._note(type(module), name, inside)

    def _note(self, kind: type, name: str, inside: tuple[nn.Parameter, ...]) -> None:
        recording = self._recording
        tensors = tuple(recording.id_of(parameter) for parameter in inside)
        recording.events.append(
            LayersHeld(len(recording.ops), made_at(recording, kind, name), kind.__name__, name, tensors)
        )

    def fold(self) -> None:
        """Roots are numbered anew: what is noted again is noted twice."""
        self._told.clear()


def _parameters(container: Any) -> tuple[nn.Parameter, ...]:
    """Those of the layers in a container, and those that are its entries; none where the first entry is neither."""
    entries = list(dict.values(container) if type(container) is dict else container)[:_MOST]
    if not isinstance(entries[0], (nn.Module, nn.Parameter)):
        return ()
    found: list[nn.Parameter] = []
    for entry in entries:
        if isinstance(entry, nn.Module):
            found += [p for p in parameters_of(entry) if isinstance(p, nn.Parameter)]
        elif isinstance(entry, nn.Parameter):
            found.append(entry)
    return tuple(found)
