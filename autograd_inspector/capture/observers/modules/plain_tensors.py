"""Tensors that are plain attributes of a module and do not learn: no buffers, so that state_dict() lacks them."""

from __future__ import annotations

from torch import Tensor, nn

from autograd_inspector.capture.lines.attributes import module_of
from autograd_inspector.capture.observers.modules.attribute_lines import made_at
from autograd_inspector.capture.observers.modules.bare import tensors_held
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import dtype_of, needs_grad
from autograd_inspector.model.program_events import PlainTensorHeld

_MOST = 100
"""So many of one model are told: they are looked for in modules that have a few numbers of their own."""


class PlainTensors:
    """Notes each attribute once, when the module that has it is looked at."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._told: dict[int, set[tuple[str, str]]] = {}

    def look(self, root: int, path: str, module: nn.Module) -> None:
        """Note what a module of the program's own has, which stands at a path of a root."""
        if module_of(type(module)).startswith("torch."):
            return
        told = self._told.setdefault(root, set())
        for name, value in tensors_held(module):
            untold = (path, name) not in told and len(told) < _MOST
            if untold and not needs_grad(value) and dtype_of(value).is_floating_point:
                told.add((path, name))
                self._note(root, path, module, name, value)

    def _note(self, root: int, path: str, module: nn.Module, name: str, tensor: Tensor) -> None:
        recording, kind = self._recording, type(module)
        at, site = len(recording.ops), made_at(recording, kind, name)
        recording.events.append(PlainTensorHeld(at, site, kind.__name__, name, recording.id_of(tensor), root, path))

    def fold(self) -> None:
        """Roots are numbered anew: what is noted again is noted twice."""
        self._told.clear()
