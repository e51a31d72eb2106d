"""State that came from another parameter than the values did: both were copied, and not in the same order."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.came_from import CameFrom
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import StateLoaded, StateSwapped

_MOST = 16
"""Copies of copies of a model."""


def swapped_origins(analysis: Analysis) -> Iterator[StateSwapped]:
    """The last load of each optimizer that gave parameters the state of what others have their values from."""
    capture = analysis.capture
    loads = {load.optimizer: load for load in capture.events_of(StateLoaded)}
    if not loads:
        return
    origins = _Origins(analysis)
    for load in loads.values():
        values = {tensor: origins.of_values(tensor, load.at) for tensor in load.tensors}
        who = {origin: tensor for tensor, origin in values.items()}
        if len(who) < len(values):
            continue  # Two have their values from one.
        states = {tensor: origins.of_state(tensor, load.optimizer) for tensor in load.tensors}
        pairs = tuple(
            (tensor, who[state])
            for tensor, state in states.items()
            if state >= 0 and state != values[tensor] and state in who
        )
        if pairs:
            yield StateSwapped(load.at, load.site, load.optimizer, load.type, pairs)


class _Origins:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._came = CameFrom(analysis.capture)
        tensors = analysis.capture.tensors
        self._parameters = {
            tensors[row.tensor].storage: row.tensor
            for row in analysis.capture.placement.rows
            if tensors[row.tensor].storage >= 0
        }
        self._made: dict[int, int] = {}
        """The memory of state that a step made -> whose it is. The first optimizer that has it made it."""
        self._states: dict[tuple[int, int], set[int]] = {}
        for row in sorted(analysis.capture.placement.rows, key=lambda row: row.optimizer):
            # The count of steps is the same for all.
            for entry in row.state if row.optimizer >= 0 else ():
                if entry.shape != () and entry.storage >= 0:
                    came = entry.storage if entry.tensor < 0 else self._came.storage(entry.tensor)
                    self._states.setdefault((row.optimizer, row.tensor), set()).add(came)
                    if came == entry.storage:
                        self._made.setdefault(came, row.tensor)

    def of_state(self, tensor: int, optimizer: int) -> int:
        """The parameter for which the state was made that an optimizer has for this one; -1: not known."""
        owners = {self._made.get(storage, -1) for storage in self._states.get((optimizer, tensor), ())}
        return owners.pop() if len(owners) == 1 else -1

    def of_values(self, tensor: int, before: int) -> int:
        """The first parameter that a parameter's values were copied from, over others; itself, where they were not."""
        for _ in range(_MOST):
            source, at = self._copied(tensor, before)
            if source < 0 or source == tensor:
                break
            tensor, before = source, at
        return tensor

    def _copied(self, tensor: int, before: int) -> tuple[int, int]:
        """The parameter whose values were last copied over all of this one's, and when; -1: none."""
        analysis = self._analysis
        storage = analysis.capture.tensors[tensor].storage
        for op, _ in analysis.writes_back(storage, 0, before):
            if op.has(Trait.STEP):
                continue
            if not is_a(op.name, OpKind.COPIES_INTO) or len(op.inputs) != 2:
                break
            return self._parameters.get(self._came.storage(op.inputs[1]), -1), op.index
        came = self._came.storage(tensor)
        return (self._parameters.get(came, -1), before) if came != storage else (-1, before)
